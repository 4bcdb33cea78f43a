"""The frame of the dashboard: its pages, the sidebar, and errors as sentences. `ragviz app` starts it."""

from ragviz import ui

page = ui.frame()
with ui.errors_shown():
    try:
        ui.sidebar(ui.workspace().store.corpora())
        page.run()
    finally:
        ui.write_address()
