"""Who may, and what stays secret: whole workers among locked parts."""
