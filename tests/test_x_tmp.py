from tests.test_pages import *
def test_x(home):
    app = show("index")
    app.session_state["index-tab"] = "New index"
    app.run()
    app.number_input(key="size").set_value(400)
    app.run()
    print([ (m.label,m.value) for m in app.metric], app.number_input(key="size").value, [c.value for c in app.caption], [e.value for e in app.error])
