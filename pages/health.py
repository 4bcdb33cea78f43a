from ragviz.health import examination
from ragviz.text.markup import plain
from ragviz.ui import address, frame, health_view
from ragviz.ui.kit import heading, notices

workspace = frame.begin()
store = workspace.store
corpus = frame.need_corpus()
sets = store.sets.all(corpus.id)
lead = "What a set of questions is worth: its faults, what it covers, and what it can and cannot notice."
beside = heading.header("Question set health", lead)
if not sets:
    notices.stop(f"{plain(corpus.name)} has no questions yet.", ("questions", "Generate or import questions"))
indexes = [info for info in store.indexes.all(corpus.id) if info.build]
with beside:
    within = ("question", "check")
    chosen = address.choose("Question set", [each.name for each in sets], "set", within=within, width=280)
    question_set = next(each for each in sets if each.name == chosen)
    newest = examination.index_of(workspace, question_set)
    if indexes and newest is not None:
        named = address.choose("Index", [info.name for info in indexes], "index", default=newest.name, width=240)
    index = next((info for info in indexes if info.name == named), None) if indexes else None
if not question_set.total:
    notices.stop(f"{plain(question_set.name)} has no questions yet.", ("questions", "Generate or import questions"))
health_view.draw(corpus, question_set, index)
