"""What the pages share; the only folder that imports streamlit."""
