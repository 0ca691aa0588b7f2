"""Pictures of estimates: a forest of intervals, the triangle of three classes, panels of groups.

The only package here that imports matplotlib, and itself imported only when something is drawn.
Figures are made without pyplot, so that there is no global list they stay in, and nothing here
touches ``rcParams``. Class names are data, not markup: dollar signs do not start a formula.
"""
