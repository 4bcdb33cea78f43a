"""The frame of the dashboard, around the pages. `ragviz app` starts it."""

from ragviz.ui import frame

with frame.frame() as page:
    page.run()
