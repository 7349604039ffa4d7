package v1alpha1

// Conditions of a Foo. Ready speaks of the Deployment; Stalled is there only while
// it is true.
//
//	| condition | status | reason                   | what it means, and who acts next                            |
//	|-----------|--------|--------------------------|-------------------------------------------------------------|
//	| Ready     | True   | Ready                    | the Deployment is as asked, and every replica is available  |
//	| Ready     | False  | Progressing              | the Deployment is as asked and its Pods are on their way,   |
//	|           |        |                          | or one of its name is on its way out                        |
//	| Ready     | False  | ReplicaFailure           | Pods cannot be created; the Deployment's own reason is told |
//	| Ready     | False  | ProgressDeadlineExceeded | the Deployment gave up waiting; look at its Pods            |
//	| Ready     | False  | ErrResourceExists        | a Deployment of that name is not this Foo's; it waits       |
//	| Ready     | False  | TemplateNotFound         | the PodTemplate is missing; create it                       |
//	| Ready     | False  | Invalid                  | the stored spec breaks a rule; change the spec              |
//	| Ready     | False  | Rejected                 | the API server refuses the Deployment; retried slowly       |
//	| Ready     | False  | BackendUnavailable       | the API server does not answer; retried with back-off       |
//	| Stalled   | True   | as above                 | nothing changes until somebody acts: ErrResourceExists,     |
//	|           |        |                          | Invalid, Rejected, ProgressDeadlineExceeded                 |
const (
	FooConditionReady   = "Ready"
	FooConditionStalled = "Stalled"
)

// Reasons of a Foo's conditions; see the table at FooConditionReady.
// FooReasonResourceExists is the original's name of its event.
const (
	FooReasonReady                    = "Ready"
	FooReasonProgressing              = "Progressing"
	FooReasonReplicaFailure           = "ReplicaFailure"
	FooReasonProgressDeadlineExceeded = "ProgressDeadlineExceeded"
	FooReasonResourceExists           = "ErrResourceExists"
	FooReasonTemplateNotFound         = "TemplateNotFound"
	FooReasonInvalid                  = "Invalid"
	FooReasonRejected                 = "Rejected"
	FooReasonBackendUnavailable       = "BackendUnavailable"
)

// FooEventSynced is the reason of the event that tells of a Deployment brought to
// what is asked, and of one whose replicas have become available.
const FooEventSynced = "Synced"
