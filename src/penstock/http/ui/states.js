// Made of core/model/urgency.py, which the CLI and REST use; tests/http/test_states.py compares them.

/** Overall states, the most urgent first. */
export const STATES = ["FAILED", "UNKNOWN", "RESTARTING", "UNASSIGNED", "PAUSED", "STOPPED", "RUNNING"];

/** The state of what nothing has reported, or whose state this page does not know. */
export const UNKNOWN = "UNKNOWN";
