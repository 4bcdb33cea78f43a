"""What every page is built of. A page asks, computes, and shows with these.

    heading   header(title, lead, crumbs=…) → the container for pickers; section(title); scroll_into_view
    tiles     with tiles.row(): tiles.tile(label, value, note); tiles.mean(label, estimate); tiles.forecast(forecast)
    table     table.draw(rows, "cases", columns={"Question": text(350), "Rank": number(50)}, above="**3 of 9**",
              file="cases", among=ids, opened=open_case, most=12, alt="Cases")
              above: count or container (`table.above`) over it; file: its download, of exactly what is shown;
              among, opened: a click in a row calls opened(among[row]); most: rows seen at once; lines: of text a row
              table.selected(state, among) and table.ticked(state, among): what is chosen, as pure functions
              table.page(count, size, "rows") → first row and end of the page that the address names, with its choice
    filters   filters.chips(words by parameter, remove) with one chip each; filters.find("find", "Find in questions")
    figure    figure.draw(drawn, key, on_select=…); figure.clicked(state) → customdata of the point
    saving    saving.button(rows or function, name, key): a download as CSV
    notices   with notices.empty(sentence): buttons that make it; with notices.errors_shown(): …; notices.confirm(…)
              notices.tabs({name: draw}, key): only the open one is drawn; with notices.closable(key, close): an outcome
    inputs    inputs.suggested_name(…): a name that follows its suggestion until one is typed

What is shown is text of other people: every function here escapes what it is given but for markdown that is asked for
by its name (`lead`, `above`, `sentence`). A choice that changes the picture stands in the address (`ui/address.py`).
"""
