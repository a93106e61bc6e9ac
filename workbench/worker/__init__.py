"""The border: what runs inside other people's environments.

Everything here is started by path with the environment's own Python (3.10 and up), imports the standard
library only at the top, and speaks JSON lines over two inherited pipes. Nothing of ours is installed there.

    guard.py    one per worker: ends the whole tree, whatever happens to us or to it
    start.py    the worker's entry
    serve.py    takes trial after trial
    trial.py    the stages of one trial
"""
