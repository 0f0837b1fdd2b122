"""What the real Apache classes answer, case by case, and that ours answer the same.

``cases`` generates the matrix, ``java/Vectors.java`` asks the real classes, ``stored`` keeps their
answers, ``ours`` asks connectd's classes, ``differences`` lists where the two part, with the
reason. ``python -m tests.conformance.vectors --record`` asks the real ones again.
"""
