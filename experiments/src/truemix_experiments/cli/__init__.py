"""``truemix bench``, which ``truemix`` finds by an entry point."""
