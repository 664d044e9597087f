"""From specs and measurements to verdicts: judged, compared with the accepted ones, corrected for their number."""
