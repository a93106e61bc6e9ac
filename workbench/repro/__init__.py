"""A trial as one self-contained Python file, for those who must fix what it shows and have no workbench.

The rule: what the file runs comes from sources on this machine; what a result line says is a literal or a comment.

    choosing.py                which attempt at a trial is shown
    scopes.py, source.py       a Python file as pieces: which names it defines, which it needs
    following.py               follows names through files, and gives each piece one name
    wording.py, importing.py   the text of the pieces
    parts/                     how an attempt is made and told, beside the kernel's own file
    symptom.py, header.py, recipe.py, script.py   a result becomes the file's text
    vouched.py, trying.py      which environment may be built again; runs the file in it
"""
