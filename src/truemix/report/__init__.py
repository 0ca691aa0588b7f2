"""An estimate summarised as one dict of plain values, and that dict rendered as an HTML page.

:mod:`truemix.report.summary` makes the dict, :mod:`truemix.report.page` the page. Only the page
knows jinja2, so that a summary alone stays cheap.
"""
