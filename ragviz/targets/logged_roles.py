"""What a column of a logged file can be, and what other programs call it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Role:
    """What a column can be: what forms call it, what it holds, and names that it has, without blanks and signs.

    The earlier name goes before the later, in any file.
    """

    label: str
    explanation: str
    names: str


ROLES: Mapping[str, Role] = {
    "question": Role(
        "Question",
        "The question; of a conversation its last turn.",
        "question userinput userquery userquestion query questions referencequestion questiontext querytext "
        "usermessage retrievalquerytext maininput recordrootinput input inputs originalquestion originalquery "
        "searchquery 问题 提问 prompt request instruction q",
    ),
    "answer": Role(
        "Answer",
        "What the system answered.",
        "response generatedanswer actualoutput llmanswer predictedanswer predictedanswers modelresponse modelanswer "
        "modeloutput systemanswer systemresponse ragresponse raganswer botresponse botanswer chatbotresponse "
        "chatbotanswer finalanswer actualanswer responsetext answertext predictions prediction predicted "
        "generatedtexts generatedtext generation generated mainoutput recordrootoutput completion reply replies "
        "candidate agentanswer agentresponse aianswer airesponse assistantanswer assistantresponse outputtext "
        "hypothesis 回答 系统回答 output outputs result answer answers a",
    ),
    "contexts": Role(
        "Contexts",
        "The texts that the system read: a list, JSON, several columns, or one a row.",
        "retrievedcontexts retrievedcontext retrievalcontext contexts retrievedcontents retrievedtexts "
        "retrieveddocs retrieveddocuments retrievedchunks retrievedpassages retrievednodes retrieved llmcontext "
        "context contextlist contexttexts passages passage passagetext chunks chunk chunktext contexttext "
        "sourcenodes sourcedocuments searchresults topchunks topdocuments topdocs sourcechunks ragcontext "
        "contextused contextsused snippets hits matches evidence evidences documents docs nodes citations sources "
        "上下文 检索内容 检索结果 retrieverspans observations calls",
    ),
    "context_ids": Role(
        "Ids of contexts",
        "The system's names for its contexts, in their order.",
        "contextids retrievedids retrievedcontextids retrieveddocids retrieveddocumentids retrievedchunkids docids "
        "documentids chunkids passageids nodeids sourceids contextid passageid chunkid docid documentid nodeid",
    ),
    "context_scores": Role(
        "Scores of contexts",
        "The retriever's scores of its contexts, in their order; higher is better.",
        "contextscores retrievescores retrievalscores retrievedscores similarityscores passagescores chunkscores "
        "retrieverscores contextscore passagescore chunkscore retrievalscore similarityscore documentscore "
        "similarity score",
    ),
    "documents": Role(
        "Documents",
        "The names of the documents that the contexts are from, in their order.",
        "documentnames retrieveddocumentnames sourcefiles filenames documentname docname filename sourcefile "
        "documenttitle titles title urls url source document sources documents docs citations sourcedocuments",
    ),
    "reference": Role(
        "Reference",
        "What would have been right; of several the first.",
        "reference groundtruth groundtruths truth gtanswer goldanswer goldenanswer expectedoutput expectedanswer "
        "expectedresponse expected trueanswers trueanswer referenceanswer referenceanswers referenceoutput "
        "referenceoutputs referenceresponse correctanswer correctanswers goldresponse humananswer standardanswer "
        "expectedresult targetanswer idealanswer groundtruthanswer groundtruthoutput groundtruthresponse "
        "generationgt gold targets target 参考答案 标准答案 答案 answer answers",
    ),
    "reference_contexts": Role(
        "Contexts of the reference",
        "Texts that answer the question.",
        "referencecontexts groundtruthcontexts goldcontexts goldencontexts expectedcontexts referencecontext "
        "groundtruthcontext goldcontext goldpassages retrievalgtcontents idealcontext referencetext quote",
    ),
    "history": Role(
        "Conversation",
        "The turns before the question, as a list of messages.",
        "conversationhistory chathistory history messages conversation conversations turns dialogue",
    ),
    "id": Role(
        "Id",
        "The system's name for the question.",
        "id questionid queryid qid exampleid taskid itemid sampleid caseid testid recordid rowid uuid traceid",
    ),
    "system": Role(
        "System",
        "Which system answered, in a file of several.",
        "system systemname systemid ragsystem providerlabel pipeline pipelinename modelname modelid model "
        "appversion appname appid provider strategy experiment experimentname configuration config variant queryrun "
        "runname run",
    ),
    "seconds": Role(
        "Latency",
        "How long an answer took, in seconds; in milliseconds where the column's name says so.",
        "seconds latency latencyms latencyseconds responsetime responsetimems durationseconds durationms duration "
        "elapsedseconds elapsedtime elapsedms elapseds elapsed latencys runduration executiontime totaltime",
    ),
    "prompt_tokens": Role(
        "Prompt tokens",
        "Tokens that the model read.",
        "prompttokens inputtokens responsetokenusageprompt nprompttokens numprompttokens prompttokencount "
        "inputtokencount tokensin",
    ),
    "completion_tokens": Role(
        "Completion tokens",
        "Tokens that the model wrote.",
        "completiontokens outputtokens responsetokenusagecompletion ncompletiontokens numcompletiontokens "
        "completiontokencount outputtokencount tokensout",
    ),
    "cost": Role("Cost", "What an answer cost, in dollars.", "cost totalcost costusd totalcostusd"),
    "error": Role("Error", "Why there is no answer.", "error errormessage mainerror exception failure"),
    "scores": Role("Scores", "What the program that wrote the file gave, under its own names.", ""),
}
"""What a column can be, by name. Contexts and scores may be several columns, separated by commas."""
