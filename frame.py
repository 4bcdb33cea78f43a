"""The frame of the dashboard, around the pages. `ragviz app` starts it."""

from ragviz import ui

with ui.frame() as page:
    page.run()
