package v1

// Conditions of a Network. Accepted speaks of the request, Programmed of the
// backend, Ready of both; Stalled is there only while it is true.
//
//	| condition  | status  | reason             | what it means, and who acts next                             |
//	|------------|---------|--------------------|--------------------------------------------------------------|
//	| Accepted   | True    | Accepted           | the request is sound and its prefixes are claimed            |
//	| Accepted   | False   | Invalid            | the stored spec breaks a rule; change the spec               |
//	| Accepted   | False   | Overlap            | another Network holds the range; change it, or wait          |
//	| Accepted   | False   | ClassNotFound      | the class, or a default class, is missing; create it         |
//	| Accepted   | False   | NotAllowed         | the class's policy refuses the request; change the spec      |
//	| Accepted   | False   | Unsupported        | the backend cannot serve what is asked; change the spec      |
//	| Accepted   | Unknown | Pending            | not all is known to judge by; the message says what is not   |
//	| Programmed | True    | Programmed         | the backend holds exactly what was asked                     |
//	| Programmed | Unknown | Pending            | the controller is at work                                    |
//	| Programmed | False   | Draining           | the old subnet goes when its last user goes                  |
//	| Programmed | False   | InUse              | something still uses the network; the message says who       |
//	| Programmed | False   | Conflict           | an object of that name exists and is not ours; remove it     |
//	| Programmed | False   | BackendUnavailable | the backend does not answer; retried with back-off           |
//	| Programmed | False   | CredentialsMissing | the class's credentials are missing; the platform acts       |
//	| Programmed | False   | QuotaExceeded      | the backend's quota is used up; retried slowly               |
//	| Programmed | False   | Ambiguous          | several backend networks carry our mark; the platform acts   |
//	| Programmed | False   | Rejected           | the backend refuses the request; retried slowly              |
//	| Ready      | any     | as above           | True/Ready, else the first of the two that is not True       |
//	| Stalled    | True    | as above           | nothing changes until somebody acts: Invalid, Overlap,       |
//	|            |         |                    | NotAllowed, Unsupported, Conflict, Ambiguous, Rejected       |
const (
	NetworkConditionReady      = "Ready"
	NetworkConditionAccepted   = "Accepted"
	NetworkConditionProgrammed = "Programmed"
	NetworkConditionStalled    = "Stalled"
)

// Reasons of a Network's conditions; see the table at NetworkConditionReady.
const (
	NetworkReasonReady = "Ready"

	NetworkReasonAccepted      = "Accepted"
	NetworkReasonInvalid       = "Invalid"
	NetworkReasonOverlap       = "Overlap"
	NetworkReasonClassNotFound = "ClassNotFound"
	NetworkReasonNotAllowed    = "NotAllowed"
	NetworkReasonUnsupported   = "Unsupported"

	NetworkReasonProgrammed         = "Programmed"
	NetworkReasonPending            = "Pending"
	NetworkReasonDraining           = "Draining"
	NetworkReasonInUse              = "InUse"
	NetworkReasonConflict           = "Conflict"
	NetworkReasonBackendUnavailable = "BackendUnavailable"
	NetworkReasonCredentialsMissing = "CredentialsMissing"
	NetworkReasonQuotaExceeded      = "QuotaExceeded"
	NetworkReasonAmbiguous          = "Ambiguous"
	NetworkReasonRejected           = "Rejected"
)

// Condition of a NetworkClass.
//
//	| condition | status | reason      | what it means, and who acts next                       |
//	|-----------|--------|-------------|--------------------------------------------------------|
//	| Ready     | True   | Ready       | Networks of this class can be made                     |
//	| Ready     | False  | Unsupported | this build has no such provider                        |
//	| Ready     | False  | Invalid     | the stored spec breaks a rule; change the spec         |
//	| Ready     | False  | InUse       | it is being deleted and Networks still use it; new     |
//	|           |        |             | ones are refused; delete those there are               |
const (
	NetworkClassConditionReady = "Ready"

	NetworkClassReasonReady       = "Ready"
	NetworkClassReasonUnsupported = "Unsupported"
	NetworkClassReasonInvalid     = "Invalid"
	NetworkClassReasonInUse       = "InUse"
)
