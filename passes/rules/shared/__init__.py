"""What several laws need: views of contractions, maps and nests, edits of maps, small operators."""
