"""The frame of the dashboard: pages in their sections, the sidebar, and errors as sentences. `ragviz app` starts it."""

import streamlit as st

from ragviz import ui

st.set_page_config(page_title="ragviz", page_icon="assets/icon.svg", layout="wide")
st.logo("assets/logo.svg", icon_image="assets/icon.svg", size="large")
page = st.navigation(
    {
        section: [
            st.Page(f"pages/{name}.py", title=title, icon=f":material/{icon}:", url_path=name, default=name == "home")
            for name, (title, icon) in pages.items()
        ]
        for section, pages in ui.NAVIGATION.items()
    },
    position="hidden",  # the sidebar draws its own links, which keep corpus, run and k in the address
)
ui.style()
with ui.errors_shown():
    ui.sidebar(ui.workspace().store.corpora())
    page.run()
