"""The frame of the dashboard, around the pages. `ragviz app` starts it."""

from pathlib import Path

import streamlit as st

from ragviz.ui import frame

assets = Path(__file__).parent / "assets"
st.set_page_config(page_title="ragviz", page_icon=str(assets / "icon.svg"), layout="wide")
st.logo(str(assets / "logo.svg"), icon_image=str(assets / "icon.svg"), size="large")
with frame.frame() as page:
    page.run()
