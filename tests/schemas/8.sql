BEGIN TRANSACTION;
CREATE TABLE cache (
    kind VARCHAR(32) NOT NULL, "key" VARCHAR(64) NOT NULL, value BLOB NOT NULL, PRIMARY KEY (kind, "key")
);
INSERT INTO "cache" VALUES('embedding','09887ea2631c0bf1ee3acafcdf47d258',X'0000000000000000000000000000000000000000F404B53E00000000F404B53E00000000000000000000000000000000000000000000000000000000F404B53E00000000000000000000000000000000000000000000000000000000F404B53E00000000000000000000000000000000000000000000000000000000F404B53E00000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000F404B53E00000000000000000000000000000000F404B53E0000000000000000F404B53E00000000000000000000000000000000');
INSERT INTO "cache" VALUES('embedding','1a3d97c795da0244beec5383a7b6bc19',X'0000000000000000000000000000000000000000EC05D13E00000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000EC05D13E000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000EC05D13E00000000000000000000000000000000EC05D13E00000000000000000000000000000000EC05D13E00000000000000000000000000000000000000000000000000000000EC05D13E00000000000000000000000000000000');
INSERT INTO "cache" VALUES('pace','22e7053e2db4f00406c3a0a275333cf3',X'5B392E3536313739323439393131393535322C203331312E323939313433353637373638342C20302E323730363333303537393131383637332C2031343239302E3037383136343834393836312C20382E3338323931313830343638323433385D');
INSERT INTO "cache" VALUES('controls','4f90ae369eef33e1d6a2c68c59f0b92c',X'7B2265646974696F6E223A20302C20227472696564223A20302C2022626164223A2066616C73657D');
INSERT INTO "cache" VALUES('model','32d75c60a1e36bd0e1cf4b7725a3c823',X'5B227B5C226B65795F7175657374696F6E735C223A205B7B5C226B65795C223A205C225C75383262335C222C205C227175657374696F6E5C223A205C225C75383836355C75353136385C75323031635C7537333862205C75323032365C75323031645C75373638345C75363632665C75353465615C75346539625C75386263645C75666631665C227D5D7D222C2039372C2031352C20302E303239325D');
INSERT INTO "cache" VALUES('bank','7bf68aa3172c46f81fc8556b27536208',X'5B5B5B2232303233222C2022576869636820776F72647320636F6D706C65746520E2809C4D617920E280A6E2809D3F222C206E756C6C5D5D2C2022656E222C20226770742D346F2D6D696E69222C202232222C205B5B2262616E6B222C20226770742D346F2D6D696E69222C202232222C203231302C2032302C20302E30353036333637353830303932303436342C20342E3335652D30352C2066616C73652C20227B5C226B65795F7175657374696F6E735C223A205B7B5C226B65795C223A205C22323032335C222C205C227175657374696F6E5C223A205C22576869636820776F72647320636F6D706C65746520E2809C4D617920E280A6E2809D3F5C227D5D7D225D2C205B2262616E6B222C20226770742D346F2D6D696E69222C202232222C203232352C2031352C20302E3031353937393731333939333134373031362C20342E323735652D30352C2066616C73652C20227B5C22616E73776572735C223A205B7B5C226E756D6265725C223A20312C205C22616E7377657261626C655C223A2066616C73652C205C22616E737765725C223A205C225C227D5D7D225D5D5D');
INSERT INTO "cache" VALUES('model','8464c9ae222e36662cf82064de1da974',X'5B227B5C22636C61696D735C223A205B7B5C22636C61696D5C223A20312C205C22737570706F727465645F62795C223A205B7B5C22706173736167655C223A20312C205C2273656E74656E63655C223A20317D5D2C205C22737570706F727465645F746F6765746865725C223A205B5D2C205C22636F6E7472616469637465645F62795C223A205B5D7D5D2C205C2270617373616765735C223A205B7B5C22706173736167655C223A20312C205C2275736566756C5C223A20747275657D2C207B5C22706173736167655C223A20322C205C2275736566756C5C223A2066616C73657D2C207B5C22706173736167655C223A20332C205C2275736566756C5C223A2066616C73657D5D7D222C203139332C2035392C20302E303233385D');
INSERT INTO "cache" VALUES('bank','03d1c71f43a276b3c5bd79cb00f89df1',X'5B5B5B22E88AB3222C2022E8A1A5E585A8E2809CE78E8B20E280A6E2809DE79A84E698AFE593AAE4BA9BE8AF8DEFBC9F222C206E756C6C5D5D2C20227A68222C20226770742D346F2D6D696E69222C202232222C205B5B2262616E6B222C20226770742D346F2D6D696E69222C202232222C2039372C2031352C20302E3032393231303835353939353138383436372C20322E33353439393939393939393939393936652D30352C2066616C73652C20227B5C226B65795F7175657374696F6E735C223A205B7B5C226B65795C223A205C22E88AB35C222C205C227175657374696F6E5C223A205C22E8A1A5E585A8E2809CE78E8B20E280A6E2809DE79A84E698AFE593AAE4BA9BE8AF8DEFBC9F5C227D5D7D225D2C205B2262616E6B222C20226770742D346F2D6D696E69222C202232222C203133312C2031352C20302E30313434383439363339393039383037362C20322E383635652D30352C2066616C73652C20227B5C22616E73776572735C223A205B7B5C226E756D6265725C223A20312C205C22616E7377657261626C655C223A2066616C73652C205C22616E737765725C223A205C225C227D5D7D225D5D5D');
CREATE TABLE corpora (
    id VARCHAR(64) NOT NULL, name TEXT NOT NULL, created FLOAT NOT NULL, PRIMARY KEY (id), UNIQUE (name)
);
INSERT INTO "corpora" VALUES('d8840a5f53246741','notes',1.7954316404193456173e+09);
CREATE TABLE cuts (
    build VARCHAR(64) NOT NULL, document_id VARCHAR(64) NOT NULL, spans BLOB NOT NULL,
    PRIMARY KEY (build, document_id)
);
INSERT INTO "cuts" VALUES('1681e69c8b323e91','8deda5f074bce23e',X'000000003E0000001000000040000000690000000A000000');
INSERT INTO "cuts" VALUES('1681e69c8b323e91','d53c76044854b1e3',X'000000001500000012000000150000001C00000007000000');
CREATE TABLE documents (
    corpus_id VARCHAR(64) NOT NULL, id VARCHAR(64) NOT NULL, name TEXT NOT NULL, status VARCHAR(16) NOT NULL,
    characters INTEGER NOT NULL, language VARCHAR(16) NOT NULL, media_type TEXT NOT NULL,
    content_hash VARCHAR(64) NOT NULL, size BIGINT NOT NULL, pages TEXT NOT NULL, page_count INTEGER NOT NULL,
    warnings TEXT NOT NULL, error TEXT NOT NULL, added FLOAT NOT NULL, text TEXT NOT NULL,
    PRIMARY KEY (corpus_id, id)
);
INSERT INTO "documents" VALUES('d8840a5f53246741','c6fd8ffbdbaead78','empty.txt','error',0,'und','','e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',0,'[]',0,'[]','The file is empty (0 bytes): add it again, or leave it out.',1.79543164043449783324e+09,'');
INSERT INTO "documents" VALUES('d8840a5f53246741','8deda5f074bce23e','pumps.md','replaced',106,'en','text/markdown','c87464b6bca1734009c48abb390254a9601b987ad588ccc227dd2e5cea7fe230',106,'[]',0,'[]','',1.79543164076470351223e+09,'# Pumps

The north pump was replaced in May 2023 by Ada Quill.

The south pump was repaired in June 2022.
');
INSERT INTO "documents" VALUES('d8840a5f53246741','d53c76044854b1e3','阀门.txt','ok',28,'zh','text/plain','3e8742e3b194447348a5849fddf44df7a4914169617df26b82b1253ea7e8ebf8',76,'[]',0,'[]','',1.79543164082329654695e+09,'北阀门于2021年更换。检修周期为三十天。负责人是王芳。');
INSERT INTO "documents" VALUES('d8840a5f53246741','e77e6a1658be80f6','pumps.md','ok',115,'en','text/markdown','96d7266141ff821dab886acc1c3643ac36e105f004a895f07b8c2fdb25770f04',115,'[]',0,'[]','',1.79543164651425170893e+09,'# Pumps

The north pump was replaced in May 2023 by Ada Quill. It hums.

The south pump was repaired in June 2022.
');
CREATE TABLE indexes (
    id VARCHAR(64) NOT NULL, corpus_id VARCHAR(64) NOT NULL, name TEXT NOT NULL, config TEXT NOT NULL,
    status VARCHAR(16) NOT NULL, build VARCHAR(64) NOT NULL, documents TEXT NOT NULL, chunks INTEGER NOT NULL,
    tokens BIGINT NOT NULL, dims INTEGER NOT NULL, embedder_identity TEXT NOT NULL, created FLOAT NOT NULL,
    built FLOAT, PRIMARY KEY (id), UNIQUE (name)
);
INSERT INTO "indexes" VALUES('a6a688329016ac45','d8840a5f53246741','small','{"chunker": "sentences", "chunk_size": 20, "overlap": 0, "embedder": "openai:loopback", "backend": "local", "similarity": "cosine", "options": {}}','ready','1681e69c8b323e91','["8deda5f074bce23e", "d53c76044854b1e3"]',4,51,64,'openai:loopback@http://127.0.0.1:45121/v1',1.79543164145592689514e+09,1.79543164267553687096e+09);
CREATE TABLE jobs (
    id VARCHAR(64) NOT NULL, kind VARCHAR(32) NOT NULL, title TEXT NOT NULL, corpus_id VARCHAR(64) NOT NULL,
    arguments TEXT NOT NULL, status VARCHAR(16) NOT NULL, done INTEGER NOT NULL, total INTEGER,
    unit TEXT NOT NULL, message TEXT NOT NULL, created FLOAT NOT NULL, started FLOAT, heartbeat FLOAT,
    finished FLOAT, host TEXT NOT NULL, pid INTEGER, pid_started FLOAT, cancel BOOLEAN NOT NULL,
    result TEXT NOT NULL, error TEXT NOT NULL, PRIMARY KEY (id)
);
INSERT INTO "jobs" VALUES('271ce86d009cf61d','index','Build small','d8840a5f53246741','{"corpus": "notes", "name": "small", "config": {"chunker": "sentences", "chunk_size": 20, "overlap": 0, "embedder": "openai:loopback", "backend": "local", "similarity": "cosine", "options": {}, "chunker_options": {}}, "fresh": false}','done',4,4,'chunks','Publishing',1.7954316411740701199e+09,1.79543164119783663751e+09,1.79543164222621917723e+09,1.79543164268681216242e+09,'elsewhere',1,1795431638.62,0,'{"index": "small", "chunks": 4, "added": 4, "removed": 0, "embedded": 4, "longer_than_read": 0, "calls": 2, "dollars": 0.0}','');
INSERT INTO "jobs" VALUES('0f038deb080bed31','run','Run first','d8840a5f53246741','{"name": "first", "config": {"index": "a6a688329016ac45", "questions": "7fce43c5b3df4f61", "retriever": "hybrid", "k": 3, "depth": 50, "seed": 0, "rrf_constant": 60, "answerer": "extractive", "model": "", "temperature": 0.0, "context_tokens": 3000, "metrics": ["faithfulness", "questeval_recall", "rouge_l", "token_f1"], "judge": "gpt-4o-mini", "context": "retrieved"}, "budget": null}','done',18,18,'steps','Answering and judging: 3 of 3 questions are finished',1.79543164282288289067e+09,1.79543164282684135435e+09,1.79543164385224318507e+09,1.79543164486555576319e+09,'elsewhere',1,1795431638.62,0,'{"run": "first", "fingerprint": "20b94dd0e88a3b61", "failed": 0}','');
CREATE TABLE judgements (
    run_id VARCHAR(64) NOT NULL, question_id VARCHAR(64) NOT NULL, failed BOOLEAN NOT NULL, body TEXT NOT NULL,
    PRIMARY KEY (run_id, question_id)
);
INSERT INTO "judgements" VALUES('8a71010e37393b00','1a94d5ef48f2c6ce',0,'{"answer":{"question_id":"1a94d5ef48f2c6ce","text":"The passages do not tell.","status":"refused","answerer":"extractive","context":["8deda5f074bce23e-00000000-00000062","8deda5f074bce23e-00000064-00000105","d53c76044854b1e3-00000000-00000021"],"cut":[],"citations":[],"wrong_citations":[],"reason":"no sentence shares 2 words with the question","version":"1","call":null},"matrix":{"chunks":["8deda5f074bce23e-00000000-00000062","8deda5f074bce23e-00000064-00000105","d53c76044854b1e3-00000000-00000021"],"answer_claims":[],"reference_claims":[],"answer_by_chunk":[],"reference_by_chunk":[],"answer_by_reference":null,"reference_by_answer":null,"useful":[false,false,false]},"asked_back":[],"noncommittal":false,"equivalence":null,"equivalence_reason":"","completeness":null,"conciseness":null,"bank":null,"bank_answers":null,"extractive_bank":null,"extractive_bank_answers":null,"similarity":null,"asked_back_similarity":null,"sentence_similarity":null,"failures":{},"calls":[{"step":"context","model":"gpt-4o-mini","prompt":"2","prompt_tokens":328,"completion_tokens":31,"seconds":0.016439621991594322,"cost":0.0000678,"cached":false,"raw":"{\"claims\": [], \"passages\": [{\"passage\": 1, \"useful\": false}, {\"passage\": 2, \"useful\": false}, {\"passage\": 3, \"useful\": false}]}"}],"shared_words":null,"verdicts":{}}');
INSERT INTO "judgements" VALUES('8a71010e37393b00','4b137f137f3ba479',0,'{"answer":{"question_id":"4b137f137f3ba479","text":"所给的段落没有说明。","status":"refused","answerer":"extractive","context":["d53c76044854b1e3-00000021-00000028","d53c76044854b1e3-00000000-00000021","8deda5f074bce23e-00000000-00000062"],"cut":[],"citations":[],"wrong_citations":[],"reason":"no sentence shares 2 words with the question","version":"1","call":null},"matrix":{"chunks":["d53c76044854b1e3-00000021-00000028","d53c76044854b1e3-00000000-00000021","8deda5f074bce23e-00000000-00000062"],"answer_claims":[],"reference_claims":[{"text":"王芳","sentence":0}],"answer_by_chunk":[],"reference_by_chunk":[[{"verdict":"supported","sentence":0},{"verdict":"absent","sentence":null},{"verdict":"absent","sentence":null}]],"answer_by_reference":null,"reference_by_answer":null,"useful":[true,false,false]},"asked_back":[],"noncommittal":false,"equivalence":null,"equivalence_reason":"","completeness":null,"conciseness":null,"bank":{"items":[{"key":"芳","question":"补全“王 …”的是哪些词？","answer":null}],"language":"zh","maker":"gpt-4o-mini","version":"2","calls":[{"step":"bank","model":"gpt-4o-mini","prompt":"2","prompt_tokens":97,"completion_tokens":15,"seconds":0.029210855995188467,"cost":0.000023549999999999996,"cached":false,"raw":"{\"key_questions\": [{\"key\": \"芳\", \"question\": \"补全“王 …”的是哪些词？\"}]}"},{"step":"bank","model":"gpt-4o-mini","prompt":"2","prompt_tokens":131,"completion_tokens":15,"seconds":0.01448496399098076,"cost":0.00002865,"cached":false,"raw":"{\"answers\": [{\"number\": 1, \"answerable\": false, \"answer\": \"\"}]}"}]},"bank_answers":null,"extractive_bank":null,"extractive_bank_answers":null,"similarity":null,"asked_back_similarity":null,"sentence_similarity":null,"failures":{},"calls":[{"step":"reference","model":"gpt-4o-mini","prompt":"2","prompt_tokens":105,"completion_tokens":10,"seconds":0.03526775499631185,"cost":0.00002175,"cached":false,"raw":"{\"claims\": [{\"text\": \"王芳\", \"sentence\": 1}]}"},{"step":"bank","model":"gpt-4o-mini","prompt":"2","prompt_tokens":97,"completion_tokens":15,"seconds":0.029210855995188467,"cost":0.000023549999999999996,"cached":false,"raw":"{\"key_questions\": [{\"key\": \"芳\", \"question\": \"补全“王 …”的是哪些词？\"}]}"},{"step":"context","model":"gpt-4o-mini","prompt":"2","prompt_tokens":193,"completion_tokens":59,"seconds":0.02379575699160341,"cost":0.00006434999999999999,"cached":false,"raw":"{\"claims\": [{\"claim\": 1, \"supported_by\": [{\"passage\": 1, \"sentence\": 1}], \"supported_together\": [], \"contradicted_by\": []}], \"passages\": [{\"passage\": 1, \"useful\": true}, {\"passage\": 2, \"useful\": false}, {\"passage\": 3, \"useful\": false}]}"},{"step":"bank","model":"gpt-4o-mini","prompt":"2","prompt_tokens":131,"completion_tokens":15,"seconds":0.01448496399098076,"cost":0.00002865,"cached":false,"raw":"{\"answers\": [{\"number\": 1, \"answerable\": false, \"answer\": \"\"}]}"}],"shared_words":null,"verdicts":{}}');
INSERT INTO "judgements" VALUES('8a71010e37393b00','239ad4b19fa6bff5',0,'{"answer":{"question_id":"239ad4b19fa6bff5","text":"The north pump was replaced in May 2023 by Ada Quill [1].","status":"answered","answerer":"extractive","context":["8deda5f074bce23e-00000000-00000062","8deda5f074bce23e-00000064-00000105","d53c76044854b1e3-00000000-00000021"],"cut":[],"citations":[1],"wrong_citations":[],"reason":"","version":"1","call":null},"matrix":{"chunks":["8deda5f074bce23e-00000000-00000062","8deda5f074bce23e-00000064-00000105","d53c76044854b1e3-00000000-00000021"],"answer_claims":[{"text":"The north pump was replaced in May 2023 by Ada Quill [1].","sentence":0}],"reference_claims":[{"text":"May 2023","sentence":0}],"answer_by_chunk":[[{"verdict":"supported","sentence":1},{"verdict":"absent","sentence":null},{"verdict":"absent","sentence":null}]],"reference_by_chunk":[[{"verdict":"supported","sentence":1},{"verdict":"absent","sentence":null},{"verdict":"absent","sentence":null}]],"answer_by_reference":null,"reference_by_answer":null,"useful":[true,false,false]},"asked_back":["When was the north pump replaced? (0)","When was the north pump replaced? (1)","When was the north pump replaced? (2)"],"noncommittal":false,"equivalence":null,"equivalence_reason":"","completeness":null,"conciseness":null,"bank":{"items":[{"key":"2023","question":"Which words complete “May …”?","answer":null}],"language":"en","maker":"gpt-4o-mini","version":"2","calls":[{"step":"bank","model":"gpt-4o-mini","prompt":"2","prompt_tokens":210,"completion_tokens":20,"seconds":0.05063675800920464,"cost":0.0000435,"cached":false,"raw":"{\"key_questions\": [{\"key\": \"2023\", \"question\": \"Which words complete “May …”?\"}]}"},{"step":"bank","model":"gpt-4o-mini","prompt":"2","prompt_tokens":225,"completion_tokens":15,"seconds":0.015979713993147016,"cost":0.00004275,"cached":false,"raw":"{\"answers\": [{\"number\": 1, \"answerable\": false, \"answer\": \"\"}]}"}]},"bank_answers":[null],"extractive_bank":null,"extractive_bank_answers":null,"similarity":null,"asked_back_similarity":null,"sentence_similarity":null,"failures":{},"calls":[{"step":"bank","model":"gpt-4o-mini","prompt":"2","prompt_tokens":210,"completion_tokens":20,"seconds":0.05063675800920464,"cost":0.0000435,"cached":false,"raw":"{\"key_questions\": [{\"key\": \"2023\", \"question\": \"Which words complete “May …”?\"}]}"},{"step":"reference","model":"gpt-4o-mini","prompt":"2","prompt_tokens":222,"completion_tokens":12,"seconds":0.03139148799527902,"cost":0.0000405,"cached":false,"raw":"{\"claims\": [{\"text\": \"May 2023\", \"sentence\": 1}]}"},{"step":"bank","model":"gpt-4o-mini","prompt":"2","prompt_tokens":225,"completion_tokens":15,"seconds":0.015979713993147016,"cost":0.00004275,"cached":false,"raw":"{\"answers\": [{\"number\": 1, \"answerable\": false, \"answer\": \"\"}]}"},{"step":"claims","model":"gpt-4o-mini","prompt":"2","prompt_tokens":281,"completion_tokens":64,"seconds":0.027746100997319445,"cost":0.00008054999999999999,"cached":false,"raw":"{\"claims\": [{\"text\": \"The north pump was replaced in May 2023 by Ada Quill [1].\", \"sentence\": 1}], \"questions\": [\"When was the north pump replaced? (0)\", \"When was the north pump replaced? (1)\", \"When was the north pump replaced? (2)\"], \"noncommittal\": false}"},{"step":"questeval","model":"gpt-4o-mini","prompt":"2","prompt_tokens":237,"completion_tokens":15,"seconds":0.014562568001565523,"cost":0.00004455,"cached":false,"raw":"{\"answers\": [{\"number\": 1, \"answerable\": false, \"answer\": \"\"}]}"},{"step":"context","model":"gpt-4o-mini","prompt":"2","prompt_tokens":368,"completion_tokens":87,"seconds":0.009144171999651007,"cost":0.0001074,"cached":false,"raw":"{\"claims\": [{\"claim\": 1, \"supported_by\": [{\"passage\": 1, \"sentence\": 2}], \"supported_together\": [], \"contradicted_by\": []}, {\"claim\": 2, \"supported_by\": [{\"passage\": 1, \"sentence\": 2}], \"supported_together\": [], \"contradicted_by\": []}], \"passages\": [{\"passage\": 1, \"useful\": true}, {\"passage\": 2, \"useful\": false}, {\"passage\": 3, \"useful\": false}]}"}],"shared_words":1.0,"verdicts":{}}');
CREATE TABLE moves (
    corpus_id VARCHAR(64) NOT NULL, document_id VARCHAR(64) NOT NULL, PRIMARY KEY (corpus_id, document_id)
);
CREATE TABLE payments (
    run_id VARCHAR(64) NOT NULL, calls INTEGER NOT NULL, dollars FLOAT NOT NULL, PRIMARY KEY (run_id)
);
INSERT INTO "payments" VALUES('a6a688329016ac45',2,0.0);
INSERT INTO "payments" VALUES('8a71010e37393b00',14,0.000715349999999999);
CREATE TABLE question_sets (
    id VARCHAR(64) NOT NULL, corpus_id VARCHAR(64) NOT NULL, name TEXT NOT NULL, created FLOAT NOT NULL,
    PRIMARY KEY (id), UNIQUE (name)
);
INSERT INTO "question_sets" VALUES('7fce43c5b3df4f61','d8840a5f53246741','asked',1.79543164276418757436e+09);
CREATE TABLE questions (
    set_id VARCHAR(64) NOT NULL, id VARCHAR(64) NOT NULL, position INTEGER NOT NULL,
    status VARCHAR(16) NOT NULL, body TEXT NOT NULL, PRIMARY KEY (set_id, id)
);
INSERT INTO "questions" VALUES('7fce43c5b3df4f61','239ad4b19fa6bff5',0,'accepted','{"id": "239ad4b19fa6bff5", "text": "When was the north pump replaced?", "answer": "May 2023", "evidence": [[["e77e6a1658be80f6", 9, 48, "The north pump was replaced in May 2023", false]]], "generator": "import", "status": "accepted", "reason": "", "language": "en", "source_chunks": []}');
INSERT INTO "questions" VALUES('7fce43c5b3df4f61','4b137f137f3ba479',1,'accepted','{"id": "4b137f137f3ba479", "text": "谁负责阀门？", "answer": "王芳", "evidence": [[["d53c76044854b1e3", 21, 27, "负责人是王芳", false]]], "generator": "import", "status": "accepted", "reason": "", "language": "zh", "source_chunks": []}');
INSERT INTO "questions" VALUES('7fce43c5b3df4f61','1a94d5ef48f2c6ce',2,'accepted','{"id": "1a94d5ef48f2c6ce", "text": "Who owns the east pump?", "answer": "", "evidence": [], "generator": "import", "status": "accepted", "reason": "", "language": "en", "source_chunks": []}');
CREATE TABLE receipts (
    writer VARCHAR(64) NOT NULL, number INTEGER NOT NULL, written FLOAT NOT NULL, PRIMARY KEY (writer)
);
CREATE TABLE results (
    run_id VARCHAR(64) NOT NULL, question_id VARCHAR(64) NOT NULL, position INTEGER NOT NULL,
    question TEXT NOT NULL, ranking TEXT NOT NULL, gold TEXT NOT NULL, PRIMARY KEY (run_id, question_id)
);
INSERT INTO "results" VALUES('8a71010e37393b00','239ad4b19fa6bff5',0,'{"id": "239ad4b19fa6bff5", "text": "When was the north pump replaced?", "answer": "May 2023", "evidence": [[["8deda5f074bce23e", 9, 48, "The north pump was replaced in May 2023", false]]], "generator": "import", "status": "accepted", "reason": "", "language": "en", "source_chunks": []}','[["8deda5f074bce23e-00000000-00000062", "8deda5f074bce23e-00000064-00000105", "d53c76044854b1e3-00000000-00000021", "d53c76044854b1e3-00000021-00000028"], [0.03278688524590164, 0.03225806451612903, 0.015873015873015872, 0.015625]]','[["8deda5f074bce23e-00000000-00000062"]]');
INSERT INTO "results" VALUES('8a71010e37393b00','4b137f137f3ba479',1,'{"id": "4b137f137f3ba479", "text": "谁负责阀门？", "answer": "王芳", "evidence": [[["d53c76044854b1e3", 21, 27, "负责人是王芳", false]]], "generator": "import", "status": "accepted", "reason": "", "language": "zh", "source_chunks": []}','[["d53c76044854b1e3-00000021-00000028", "d53c76044854b1e3-00000000-00000021", "8deda5f074bce23e-00000000-00000062", "8deda5f074bce23e-00000064-00000105"], [0.03278688524590164, 0.03225806451612903, 0.015873015873015872, 0.015625]]','[["d53c76044854b1e3-00000021-00000028"]]');
INSERT INTO "results" VALUES('8a71010e37393b00','1a94d5ef48f2c6ce',2,'{"id": "1a94d5ef48f2c6ce", "text": "Who owns the east pump?", "answer": "", "evidence": [], "generator": "import", "status": "accepted", "reason": "", "language": "en", "source_chunks": []}','[["8deda5f074bce23e-00000000-00000062", "8deda5f074bce23e-00000064-00000105", "d53c76044854b1e3-00000000-00000021", "d53c76044854b1e3-00000021-00000028"], [0.03252247488101534, 0.03252247488101534, 0.015873015873015872, 0.015625]]','[]');
CREATE TABLE revisions (owner_id VARCHAR(64) NOT NULL, number INTEGER NOT NULL, PRIMARY KEY (owner_id));
INSERT INTO "revisions" VALUES('d8840a5f53246741',5);
INSERT INTO "revisions" VALUES('a6a688329016ac45',4);
INSERT INTO "revisions" VALUES('7fce43c5b3df4f61',2);
INSERT INTO "revisions" VALUES('8a71010e37393b00',16);
CREATE TABLE runs (
    id VARCHAR(64) NOT NULL, corpus_id VARCHAR(64) NOT NULL, name TEXT NOT NULL, config TEXT NOT NULL,
    fingerprint VARCHAR(64) NOT NULL, provenance TEXT NOT NULL, status VARCHAR(16) NOT NULL,
    created FLOAT NOT NULL, finished FLOAT, PRIMARY KEY (id), UNIQUE (name)
);
INSERT INTO "runs" VALUES('8a71010e37393b00','d8840a5f53246741','first','{"index": "a6a688329016ac45", "questions": "7fce43c5b3df4f61", "retriever": "hybrid", "k": 3, "depth": 50, "seed": 0, "rrf_constant": 60, "answerer": "extractive", "model": "", "temperature": 0.0, "context_tokens": 3000, "metrics": ["faithfulness", "questeval_recall", "rouge_l", "token_f1"], "judge": "gpt-4o-mini", "context": "retrieved"}','20b94dd0e88a3b61','{"controls": {"accuracy": 1.0, "asked": 4, "edition": 0, "fresh": true, "host": "127.0.0.1:45121", "judge": "gpt-4o-mini", "prompts": {"bank": "2", "claims": "2", "comparison": "2", "context": "2", "questeval": "2", "reference": "2"}, "reliable": true, "right": 4, "sentence": "4 of 4 verdicts on control items right.", "told": [{"asked": "a claim taken from a passage", "expected": "supported", "kind": "passage", "question_id": "239ad4b19fa6bff5", "right": true, "told": "supported"}, {"asked": "the same with its number changed", "expected": "not supported", "kind": "passage", "question_id": "239ad4b19fa6bff5", "right": true, "told": "not supported"}, {"asked": "a question answered in the text", "expected": "answerable", "kind": "unanswerable", "question_id": "239ad4b19fa6bff5", "right": true, "told": "answerable"}, {"asked": "an unanswerable question", "expected": "unanswerable", "kind": "unanswerable", "question_id": "239ad4b19fa6bff5", "right": true, "told": "unanswerable"}], "usage": {"calls": 2, "completion_tokens": 99, "cost": 0.00015000000000000001, "prompt_tokens": 604, "seconds": 0.05345198299619369}}, "identity": {"answerer": "extractive", "context": "retrieved", "context_tokens": "3000", "corpus": "389e4293331fcebb", "depth": "50", "embedder": "openai:loopback@http://127.0.0.1:45121/v1", "endpoint": "127.0.0.1:45121", "index": "92baf059ffb26c2e", "judge": "gpt-4o-mini", "judgement": "e9d4e7b46bf740d1", "k": "3", "metrics": "d5bbc417cba2ed77", "model": "", "questions": "2f324fb82a7f0dae", "retriever": "hybrid", "rrf_constant": "60", "seed": "0", "temperature": "0.0"}, "index": "small", "index_config": {"backend": "local", "chunk_size": 20, "chunker": "sentences", "embedder": "openai:loopback", "options": {}, "overlap": 0, "similarity": "cosine"}, "models": {"forms": ["json_schema"], "hosts": ["127.0.0.1:45121"], "metric_embedders": []}, "n": 3, "questions": "asked", "ragviz": "0.1.0"}','done',1.79543164327594065667e+09,1.79543164485789942738e+09);
CREATE TABLE schema_version (
	version INTEGER NOT NULL, 
	PRIMARY KEY (version)
);
INSERT INTO "schema_version" VALUES(1);
INSERT INTO "schema_version" VALUES(2);
INSERT INTO "schema_version" VALUES(3);
INSERT INTO "schema_version" VALUES(4);
INSERT INTO "schema_version" VALUES(5);
INSERT INTO "schema_version" VALUES(6);
INSERT INTO "schema_version" VALUES(7);
INSERT INTO "schema_version" VALUES(8);
CREATE TABLE scores (
    run_id VARCHAR(64) NOT NULL, question_id VARCHAR(64) NOT NULL, metric VARCHAR(64) NOT NULL, value FLOAT,
    status VARCHAR(16) NOT NULL, reason TEXT NOT NULL, version VARCHAR(64) NOT NULL,
    PRIMARY KEY (run_id, question_id, metric)
);
INSERT INTO "scores" VALUES('8a71010e37393b00','1a94d5ef48f2c6ce','faithfulness',NULL,'no_answer','the answer is a refusal: there is nothing to judge','2+claims2+context2');
INSERT INTO "scores" VALUES('8a71010e37393b00','1a94d5ef48f2c6ce','questeval_recall',NULL,'no_answer','the answer is a refusal: there is nothing to judge','1+questeval2');
INSERT INTO "scores" VALUES('8a71010e37393b00','1a94d5ef48f2c6ce','rouge_l',NULL,'no_answer','the answer is a refusal: there is nothing to judge','2');
INSERT INTO "scores" VALUES('8a71010e37393b00','1a94d5ef48f2c6ce','token_f1',NULL,'no_answer','the answer is a refusal: there is nothing to judge','2');
INSERT INTO "scores" VALUES('8a71010e37393b00','4b137f137f3ba479','faithfulness',NULL,'no_answer','the answer is a refusal: there is nothing to judge','2+claims2+context2');
INSERT INTO "scores" VALUES('8a71010e37393b00','4b137f137f3ba479','questeval_recall',NULL,'no_answer','the answer is a refusal: there is nothing to judge','1+questeval2');
INSERT INTO "scores" VALUES('8a71010e37393b00','4b137f137f3ba479','rouge_l',NULL,'no_answer','the answer is a refusal: there is nothing to judge','2');
INSERT INTO "scores" VALUES('8a71010e37393b00','4b137f137f3ba479','token_f1',NULL,'no_answer','the answer is a refusal: there is nothing to judge','2');
INSERT INTO "scores" VALUES('8a71010e37393b00','239ad4b19fa6bff5','faithfulness',1.0,'ok','','2+claims2+context2');
INSERT INTO "scores" VALUES('8a71010e37393b00','239ad4b19fa6bff5','questeval_recall',NULL,'not_applicable','no question about the reference can be answered from it','1+questeval2');
INSERT INTO "scores" VALUES('8a71010e37393b00','239ad4b19fa6bff5','rouge_l',2.85714285714285698425e-01,'ok','','2');
INSERT INTO "scores" VALUES('8a71010e37393b00','239ad4b19fa6bff5','token_f1',3.07692307692307709388e-01,'ok','','2');
CREATE INDEX ix_indexes_corpus_id ON indexes (corpus_id);
CREATE INDEX ix_question_sets_corpus_id ON question_sets (corpus_id);
CREATE INDEX ix_runs_corpus_id ON runs (corpus_id);
CREATE INDEX ix_documents_corpus_id_name ON documents (corpus_id, name);
CREATE INDEX ix_questions_set_id_position ON questions (set_id, position);
CREATE INDEX ix_jobs_created ON jobs (created);
COMMIT;
