"""Programs that look for inputs on which two implementations differ, or one of them breaks."""
