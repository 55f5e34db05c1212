"""Listings -> homes: finds which adverts are the same dwelling (record linkage).

`facts` reads what linking needs from a listing, `pairs` finds candidate pairs, `vetoes` says what contradicts, `scorer`
how likely a pair is one home, `clusters` makes homes of pairs, `linkage` does all of it, `build` does it for a store.
"""
