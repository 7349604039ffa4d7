package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// AnnotationIsDefaultClass set to "true" on a NetworkClass makes it the class of
// Networks created without one. With several such classes the oldest counts.
const AnnotationIsDefaultClass = "samplecrd.k8s.io/is-default-class"

// NetworkClassFinalizer keeps a NetworkClass until no Network names it any more.
const NetworkClassFinalizer = "networkclass.samplecrd.k8s.io/in-use"

// NetworkClass is written by the platform team: which backend makes a Network
// real, and by what policy. What a StorageClass is to a volume.
//
// +genclient
// +genclient:nonNamespaced
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=networkclasses,scope=Cluster,categories=samplecrd
// +kubebuilder:metadata:annotations="api-approved.kubernetes.io=unapproved, a group of a teaching project that Kubernetes has not reviewed"
// +kubebuilder:printcolumn:name="Provider",type=string,JSONPath=`.spec.provider`
// +kubebuilder:printcolumn:name="Default",type=string,JSONPath=`.metadata.annotations.samplecrd\.k8s\.io/is-default-class`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type NetworkClass struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the backend and the policy of this class.
	// +required
	Spec NetworkClassSpec `json:"spec"`

	// status says whether the class can be used.
	// +optional
	// +kubebuilder:default:={"observedGeneration":-1}
	Status NetworkClassStatus `json:"status,omitzero"`
}

// NetworkClassList is a list of NetworkClasses.
//
// +kubebuilder:object:root=true
type NetworkClassList struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// items are the NetworkClasses.
	Items []NetworkClass `json:"items"`
}

// NetworkClassSpec is the backend and the policy of a class. Which backend it is
// cannot be changed; the policy may change and never stops what runs.
//
// +kubebuilder:validation:XValidation:rule="self.provider != 'Multus' || has(self.multus) || (oldSelf.hasValue() && oldSelf.value().provider == self.provider && !has(oldSelf.value().multus))",optionalOldSelf=true,fieldPath=".multus",reason=FieldValueRequired,message="is required when provider is Multus"
// +kubebuilder:validation:XValidation:rule="!oldSelf.hasValue() || self.provider == oldSelf.value().provider",optionalOldSelf=true,fieldPath=".provider",message="cannot be changed; create another NetworkClass"
// +kubebuilder:validation:XValidation:rule="!oldSelf.hasValue() || !has(oldSelf.value().overlapScope) || (has(self.overlapScope) && self.overlapScope == oldSelf.value().overlapScope)",optionalOldSelf=true,fieldPath=".overlapScope",message="cannot be changed; create another NetworkClass"
// +kubebuilder:validation:XValidation:rule="self.provider != 'Neutron' || has(self.neutron) || (oldSelf.hasValue() && oldSelf.value().provider == self.provider && !has(oldSelf.value().neutron))",optionalOldSelf=true,fieldPath=".neutron",reason=FieldValueRequired,message="is required when provider is Neutron"
// +kubebuilder:validation:XValidation:rule="self.provider != 'Neutron' || !has(self.multus) || (oldSelf.hasValue() && oldSelf.value().provider == self.provider && has(oldSelf.value().multus))",optionalOldSelf=true,fieldPath=".multus",reason=FieldValueForbidden,message="must be left out when provider is Neutron"
// +kubebuilder:validation:XValidation:rule="self.provider != 'Multus' || !has(self.neutron) || (oldSelf.hasValue() && oldSelf.value().provider == self.provider && has(oldSelf.value().neutron))",optionalOldSelf=true,fieldPath=".neutron",reason=FieldValueForbidden,message="must be left out when provider is Multus"
// +kubebuilder:validation:XValidation:rule="!oldSelf.hasValue() || !has(oldSelf.value().multus) || (has(self.multus) ? self.multus == oldSelf.value().multus : oldSelf.value().provider == 'Neutron')",optionalOldSelf=true,fieldPath=".multus",message="cannot be changed; create another NetworkClass"
// +kubebuilder:validation:XValidation:rule="!oldSelf.hasValue() || !has(oldSelf.value().neutron) || has(self.neutron) || oldSelf.value().provider == 'Multus'",optionalOldSelf=true,fieldPath=".neutron",message="cannot be removed; create another NetworkClass"
type NetworkClassSpec struct {
	// provider is the backend that makes Networks of this class real. Multus: a
	// NetworkAttachmentDefinition that Pods attach to. Neutron: an OpenStack network.
	// Cannot be changed.
	// +required
	Provider ProviderType `json:"provider"`

	// multus says how Multus networks are made. Present exactly when provider is
	// Multus. Cannot be changed.
	// +optional
	Multus *MultusSpec `json:"multus,omitempty"`

	// neutron says in which cloud, and how, Neutron networks are made. Present exactly
	// when provider is Neutron. Cannot be changed, but for its driftIntervalSeconds.
	// +optional
	Neutron *NeutronSpec `json:"neutron,omitempty"`

	// overlapScope says which Networks of this class may not overlap. Namespace:
	// those of one namespace. Class: all of them. None: none, any two may. Cannot be
	// changed. Default: Namespace.
	// +optional
	// +kubebuilder:default=Namespace
	OverlapScope OverlapScope `json:"overlapScope,omitempty"`

	// allowedCIDRs are the ranges that subnets are taken from: each subnet lies
	// inside one of them. Written as a Network's cidr is, each once. At most 64. May
	// change. Default: none, which allows any range.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=49
	// +kubebuilder:validation:items:XValidation:rule="isCIDR(self) && !self.endsWith('/0')",message="must be an address and a prefix length of at least 1, for example 10.0.0.0/8 or 2001:db8::/32"
	AllowedCIDRs []string `json:"allowedCIDRs,omitempty"`

	// reservedCIDRs are ranges that no subnet may touch. Written as a Network's cidr
	// is, each once. At most 64. May change. Default: none.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=49
	// +kubebuilder:validation:items:XValidation:rule="isCIDR(self) && !self.endsWith('/0')",message="must be an address and a prefix length of at least 1, for example 10.0.0.0/8 or 2001:db8::/32"
	ReservedCIDRs []string `json:"reservedCIDRs,omitempty"`

	// prefixLengths bound how large or small a subnet may be. May change. Absent:
	// any length.
	// +optional
	PrefixLengths *PrefixLengths `json:"prefixLengths,omitempty"`

	// namespaceSelector says, by their labels, which namespaces may use the class. At
	// most 16 requirements of at most 64 values each. May change. Absent or empty:
	// every namespace.
	// +optional
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`

	// clusterRanges says what becomes of a subnet that overlaps the cluster's own
	// addresses, those of its Services (ServiceCIDR) and Pods (Node spec.podCIDRs).
	// Warn: it is admitted with a warning. Forbid: it is refused. Ignore: nothing.
	// May change. Default: Warn.
	// +optional
	// +kubebuilder:default=Warn
	ClusterRanges ClusterRangesPolicy `json:"clusterRanges,omitempty"`

	// import says whether a Network of this class may take over a network that the
	// backend holds already, by its importID. May change; what was taken over stays.
	// Default: Forbidden.
	// +optional
	// +kubebuilder:default=Forbidden
	Import ImportPolicy `json:"import,omitempty"`

	// deletionPolicy is given to Networks of this class that are created without
	// one. May change; Networks that exist keep theirs. Default: Delete.
	// +optional
	// +kubebuilder:default=Delete
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`
}

// OverlapScope says which Networks of a class may not overlap.
//
// +kubebuilder:validation:Enum=Namespace;Class;None
type OverlapScope string

// The values of spec.overlapScope.
const (
	// OverlapNamespace keeps the Networks of one namespace apart; this is the default.
	OverlapNamespace OverlapScope = "Namespace"
	// OverlapClass keeps all Networks of the class apart.
	OverlapClass OverlapScope = "Class"
	// OverlapNone lets any two Networks overlap.
	OverlapNone OverlapScope = "None"
)

// ClusterRangesPolicy says what becomes of a subnet that overlaps the cluster's own
// addresses.
//
// +kubebuilder:validation:Enum=Warn;Forbid;Ignore
type ClusterRangesPolicy string

// The values of spec.clusterRanges.
const (
	// ClusterRangesWarn admits with a warning; this is the default.
	ClusterRangesWarn ClusterRangesPolicy = "Warn"
	// ClusterRangesForbid refuses.
	ClusterRangesForbid ClusterRangesPolicy = "Forbid"
	// ClusterRangesIgnore does not look.
	ClusterRangesIgnore ClusterRangesPolicy = "Ignore"
)

// ImportPolicy says whether Networks may take over what the backend holds already.
//
// +kubebuilder:validation:Enum=Forbidden;Allowed
type ImportPolicy string

// The values of spec.import.
const (
	// ImportForbidden refuses an importID; this is the default.
	ImportForbidden ImportPolicy = "Forbidden"
	// ImportAllowed lets a Network take over a network of the class's own project.
	ImportAllowed ImportPolicy = "Allowed"
)

// PrefixLengths bound the sizes of subnets, by address family.
type PrefixLengths struct {
	// ipv4 bounds IPv4 subnets. Absent: any length.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!has(self.min) || self.min <= 32",fieldPath=".min",message="must be from 1 to 32"
	// +kubebuilder:validation:XValidation:rule="!has(self.max) || self.max <= 32",fieldPath=".max",message="must be from 1 to 32"
	IPv4 *PrefixLengthRange `json:"ipv4,omitempty"`
	// ipv6 bounds IPv6 subnets. Absent: any length.
	// +optional
	IPv6 *PrefixLengthRange `json:"ipv6,omitempty"`
}

// PrefixLengthRange is a range of prefix lengths, both ends included.
//
// +kubebuilder:validation:XValidation:rule="!has(self.min) || !has(self.max) || self.min <= self.max",fieldPath=".min",message="must not be above max"
type PrefixLengthRange struct {
	// min is the shortest prefix length, that of the largest subnet: 1 to 32 in
	// ipv4, 1 to 128 in ipv6, not above max. Absent: 1.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=128
	Min *int32 `json:"min,omitempty"`
	// max is the longest prefix length, that of the smallest subnet: 1 to 32 in
	// ipv4, 1 to 128 in ipv6, not below min. Absent: the longest of the family.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=128
	Max *int32 `json:"max,omitempty"`
}

// ProviderType names a backend.
//
// +kubebuilder:validation:Enum=Multus;Neutron
type ProviderType string

// The values of spec.provider.
const (
	// ProviderMultus makes each Network a NetworkAttachmentDefinition (Kubernetes
	// Network Custom Resource Definition De-facto Standard, version 1).
	ProviderMultus ProviderType = "Multus"
	// ProviderNeutron makes each Network a network of OpenStack Neutron (Networking
	// API v2.0), with its subnets.
	ProviderNeutron ProviderType = "Neutron"
)

// MultusSpec says how the CNI configuration of a Multus network is written.
type MultusSpec struct {
	// type is the CNI plugin that makes the interfaces. Bridge: a Linux bridge of
	// the Network's own on each node.
	// +required
	Type MultusType `json:"type"`

	// vlanID tags the traffic of the Pods' bridge ports, 1 to 4094 (IEEE 802.1Q).
	// Absent: untagged.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=4094
	VLANID *int32 `json:"vlanID,omitempty"`

	// ipam is what hands out addresses to Pods. HostLocal keeps its leases on each
	// node, so that two nodes may hand out the same address of one Network. Default:
	// HostLocal.
	// +optional
	// +kubebuilder:default=HostLocal
	IPAM MultusIPAM `json:"ipam,omitempty"`
}

// MultusType is the CNI plugin of a Multus class.
//
// +kubebuilder:validation:Enum=Bridge
type MultusType string

// MultusBridge is the CNI plugin "bridge".
const MultusBridge MultusType = "Bridge"

// MultusIPAM is the CNI address management plugin of a Multus class.
//
// +kubebuilder:validation:Enum=HostLocal
type MultusIPAM string

// IPAMHostLocal is the CNI plugin "host-local"; it serves nothing longer than a
// /30 or a /126.
const IPAMHostLocal MultusIPAM = "HostLocal"

// NetworkClassStatus says whether a class can be used.
type NetworkClassStatus struct {
	// observedGeneration is the metadata.generation that the conditions speak of;
	// -1 until a controller has seen the class.
	// +optional
	ObservedGeneration *int64 `json:"observedGeneration,omitempty"`

	// conditions hold Ready; its reasons are at NetworkClassConditionReady.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=8
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
