"""The geometry of the pictures, from the plain values of a summary to positions on the page.

Positions across are percentages of the width, so that a picture is as wide as its place and its
text stays as large as the text around it, on a phone as on a desk. Templates draw what stands here.
"""
