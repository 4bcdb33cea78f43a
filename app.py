"""The dashboard's server: `ragviz app`, or `streamlit run app.py`. Its frame is `frame.py`, around the pages."""

from starlette.middleware import Middleware
from streamlit.starlette import App

from ragviz.ui.guard import Guard, allowed_hosts
from ragviz.ui.polls import Polls

app = App("frame.py", middleware=[Middleware(Guard, hosts=allowed_hosts()), Middleware(Polls)])
