"""Small problems with a known answer that other programs got wrong, and the whole kind of each."""
