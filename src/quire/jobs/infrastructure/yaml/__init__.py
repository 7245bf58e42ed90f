"""Policy files of the engine."""
