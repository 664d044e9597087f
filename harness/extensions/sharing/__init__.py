"""Sharing: results copied to and from a store that several machines share, each checked, with a tag where asked."""
