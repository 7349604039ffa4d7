package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// AnnotationMaxReplicas on a Namespace lowers the number of replicas that a Foo
	// in it may ask for: an integer of 0 or more. Anything else is ignored, with a
	// warning to those who write Foos there.
	AnnotationMaxReplicas = "samplecontroller.k8s.io/max-replicas"

	// AnnotationAdoptBy on a Deployment names the Foo that may take it over: for one
	// that was restored from a backup without its owner. It has to be without a
	// controller and have the selector that the Foo writes.
	AnnotationAdoptBy = "samplecontroller.k8s.io/adopt-by"
)

// FieldDeploymentName is the field that Foos can be selected by.
const FieldDeploymentName = "spec.deploymentName"

// Foo keeps a Deployment at a number of replicas.
//
// +genclient
// +genclient:method=GetScale,verb=get,subresource=scale,result=k8s.io/api/autoscaling/v1.Scale
// +genclient:method=UpdateScale,verb=update,subresource=scale,input=k8s.io/api/autoscaling/v1.Scale,result=k8s.io/api/autoscaling/v1.Scale
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:resource:path=foos,scope=Namespaced,categories=samplecrd
// +kubebuilder:selectablefield:JSONPath=`.spec.deploymentName`
// +kubebuilder:metadata:annotations="api-approved.kubernetes.io=unapproved, a group of a teaching project that Kubernetes has not reviewed"
// +kubebuilder:printcolumn:name="Deployment",type=string,JSONPath=`.spec.deploymentName`
// +kubebuilder:printcolumn:name="Desired",type=integer,JSONPath=`.spec.replicas`
// +kubebuilder:printcolumn:name="Available",type=integer,JSONPath=`.status.availableReplicas`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Template",type=string,JSONPath=`.spec.podTemplateName`,priority=1
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`,priority=1
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,priority=1
type Foo struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the Deployment that is asked for.
	// +required
	Spec FooSpec `json:"spec"`

	// status is what was seen of the Deployment.
	// +optional
	// +kubebuilder:default:={"observedGeneration":-1}
	Status FooStatus `json:"status,omitzero"`
}

// FooList is a list of Foos.
//
// +kubebuilder:object:root=true
type FooList struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// items are the Foos.
	Items []Foo `json:"items"`
}

// FooSpec is the Deployment that is asked for.
type FooSpec struct {
	// deploymentName names the Deployment, in the Foo's namespace: a lower
	// case DNS name (RFC 1123 subdomain) of at most 253 characters. May
	// change: the new Deployment becomes available first, then the old one
	// goes.
	// +required
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="size(self) != 0",reason=FieldValueRequired,message="name the Deployment that this Foo keeps, for example example-foo"
	// +kubebuilder:validation:XValidation:rule="size(self) == 0 || !format.dns1123Subdomain().validate(self).hasValue()",message="must be the name of a Deployment: lower case letters, digits, '-' and '.', and a letter or digit at both ends of every part"
	DeploymentName string `json:"deploymentName"`

	// replicas is how many Pods the Deployment is kept at: 0 or more, at most
	// what the manager (flag --foo-max-replicas, 100 by default) and the
	// namespace (annotation samplecontroller.k8s.io/max-replicas) allow.
	// Absent or null: 1. 0 stays 0. May change, also through the scale
	// subresource.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=2147483647
	Replicas *int32 `json:"replicas,omitempty"`

	// podTemplateName names a PodTemplate (core/v1) in the Foo's namespace
	// that the Pods are made from; its changes roll out. At most 253
	// characters. May change. Absent or "": one container with the manager's
	// --foo-default-image.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="size(self) == 0 || !format.dns1123Subdomain().validate(self).hasValue()",message="must be the name of a PodTemplate: lower case letters, digits, '-' and '.', and a letter or digit at both ends of every part"
	PodTemplateName string `json:"podTemplateName,omitempty"`
}

// FooStatus is what was seen of the Deployment. While a new Deployment cannot be
// made it speaks of the old one.
type FooStatus struct {
	// observedGeneration is the metadata.generation that the status speaks
	// of; -1 until a controller has seen the Foo.
	// +optional
	ObservedGeneration *int64 `json:"observedGeneration,omitempty"`

	// deploymentName is the Deployment that this Foo has; absent while it has
	// none. At most 253 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	DeploymentName *string `json:"deploymentName,omitempty"`

	// replicas is how many Pods the Deployment has. 0 is shown.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=2147483647
	Replicas *int32 `json:"replicas,omitempty"`

	// availableReplicas is how many Pods of the Deployment are available. 0 is
	// shown.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=2147483647
	AvailableReplicas *int32 `json:"availableReplicas,omitempty"`

	// selector selects the Deployment's Pods, as text; autoscalers read it
	// through the scale subresource. At most 1024 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Selector *string `json:"selector,omitempty"`

	// conditions are Ready and, only while it is true, Stalled. Their reasons,
	// and what to do about each, are in docs/foos.md.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=8
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
