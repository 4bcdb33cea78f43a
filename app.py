"""The dashboard's server: `ragviz app`, or `streamlit run app.py`. Its frame is `frame.py`, around the pages."""

from starlette.middleware import Middleware
from streamlit.starlette import App

from ragviz.ui.gate import Gate
from ragviz.ui.monitoring import Requests, lifespan
from ragviz.ui.server import Guard, Polls, allowed_hosts, begin
from ragviz.ui.sign_ins import home_secrets

begin()
inwards = [Middleware(Requests), Middleware(Guard, hosts=allowed_hosts()), Middleware(Gate), Middleware(Polls)]
app = App("frame.py", lifespan=lifespan, middleware=inwards, secrets=home_secrets())
