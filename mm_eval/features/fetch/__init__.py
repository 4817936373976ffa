"""Data sets that can't be loaded by name: their authors' recipes."""

VERBS = {
    "fetch": ("verb", "a data set that can't be loaded by name: downloaded, checked and converted as its authors say"),
}
