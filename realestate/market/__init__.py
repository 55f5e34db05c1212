"""Market statistics by week, counted by home.

`periods` reads when each home was on the market at which price, `weekly` makes the figures of a week, `survival` the
time on the market, `index` the hedonic price index, `build` does all of it for a store. docs/market.md defines every
figure.
"""
