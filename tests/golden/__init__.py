"""Names and seeds that committed results have, remembered and recomputed."""
