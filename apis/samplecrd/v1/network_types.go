package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// GatewayNone is the value of spec.gateway that asks for a network without a
// gateway, as clusterIP: None does for a Service.
const GatewayNone = "None"

// NetworkFinalizer keeps a Network until its backend has let the real network go.
// It is set before the first write to a backend.
const NetworkFinalizer = "network.samplecrd.k8s.io/provider"

// FieldNetworkClassName is the field that Networks can be selected by.
const FieldNetworkClassName = "spec.networkClassName"

// Network asks for a real network with an address range and a gateway.
//
// +genclient
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:selectablefield:JSONPath=`.spec.networkClassName`
// +kubebuilder:resource:path=networks,scope=Namespaced,shortName=snet,categories=samplecrd
// +kubebuilder:metadata:annotations="api-approved.kubernetes.io=unapproved, a group of a teaching project that Kubernetes has not reviewed"
// +kubebuilder:printcolumn:name="CIDR",type=string,JSONPath=`.spec.cidr`
// +kubebuilder:printcolumn:name="Gateway",type=string,JSONPath=`.spec.gateway`
// +kubebuilder:printcolumn:name="Class",type=string,JSONPath=`.spec.networkClassName`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Provider",type=string,JSONPath=`.status.provider`,priority=1
// +kubebuilder:printcolumn:name="ID",type=string,JSONPath=`.status.providerID`,priority=1
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,priority=1
type Network struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the network that is asked for.
	// +required
	Spec NetworkSpec `json:"spec"`

	// status is what the backend was seen to hold.
	// +optional
	// +kubebuilder:default:={"observedGeneration":-1}
	Status NetworkStatus `json:"status,omitzero"`
}

// NetworkList is a list of Networks.
//
// +kubebuilder:object:root=true
type NetworkList struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// items are the Networks.
	Items []Network `json:"items"`
}

// NetworkSpec is the network that is asked for.
//
// The rules below hold on create, and on update when one of the fields they read
// has changed: what is stored already never blocks a change of something else.
//
// +kubebuilder:validation:XValidation:rule="!has(self.gateway) || size(self.gateway) == 0 || self.gateway == 'None' || !isIP(self.gateway) || !isCIDR(self.cidr) || cidr(self.cidr).containsIP(self.gateway) || (oldSelf.hasValue() && oldSelf.value().cidr == self.cidr && has(oldSelf.value().gateway) && oldSelf.value().gateway == self.gateway)",optionalOldSelf=true,fieldPath=".gateway",message="must be an address inside cidr; set it to one, or remove it to have the first usable address chosen"
// +kubebuilder:validation:XValidation:rule="!oldSelf.hasValue() || !has(oldSelf.value().networkClassName) || size(oldSelf.value().networkClassName) == 0 || (has(self.networkClassName) && self.networkClassName == oldSelf.value().networkClassName)",optionalOldSelf=true,fieldPath=".networkClassName",message="cannot be changed once it is set; create another Network in the other class"
// +kubebuilder:validation:XValidation:rule="!oldSelf.hasValue() || ((has(self.importID) && size(self.importID) > 0) == (has(oldSelf.value().importID) && size(oldSelf.value().importID) > 0) && (!has(self.importID) || !has(oldSelf.value().importID) || self.importID == oldSelf.value().importID))",optionalOldSelf=true,fieldPath=".importID",message="cannot be changed, added or removed; create another Network"
type NetworkSpec struct {
	// cidr is the address range, IPv4 or IPv6: an address, a slash and a prefix
	// length of at least 1, at most 49 characters. No spaces, no leading zeros in
	// IPv4 octets or the prefix length, no IPv4-mapped IPv6 (RFC 4291 2.5.5.2), no
	// zone. Host bits may be set, and draw a warning; the canonical prefix is in
	// status.subnets. May change.
	// +required
	// +kubebuilder:validation:MaxLength=49
	// +kubebuilder:validation:XValidation:rule="isCIDR(self) && !self.endsWith('/0')",message="must be an address and a prefix length of at least 1, for example 192.168.0.0/16 or 2001:db8::/64, without spaces, leading zeros, IPv4-mapped IPv6 or a zone"
	CIDR string `json:"cidr"`

	// gateway is the router's address: inside cidr, neither the network address
	// nor the IPv4 broadcast address (of a /31, /32, /127 or /128 every address
	// will do). Absent, null or "": the first usable address. None: no gateway. At
	// most 45 characters. May change.
	// +optional
	// +kubebuilder:validation:MaxLength=45
	// +kubebuilder:validation:XValidation:rule="size(self) == 0 || self == 'None' || isIP(self)",message="must be a plain IP address inside cidr, or None for no gateway"
	Gateway string `json:"gateway,omitempty"`

	// allocationPools are the ranges that addresses are handed out from: of cidr's
	// family, within its usable addresses, disjoint, without the gateway. At most
	// 16. May change. Absent: every usable address but the gateway.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	AllocationPools []AddressRange `json:"allocationPools,omitempty"`

	// dnsServers are the name servers told to those on the network, of either
	// family, each once, in order of preference. At most 8. May change. Absent:
	// none.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=45
	// +kubebuilder:validation:items:XValidation:rule="isIP(self)",message="must be a plain IP address"
	DNSServers []string `json:"dnsServers,omitempty"`

	// routes are static routes told to those on the network; each destination
	// once. At most 32. May change. Absent: none.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Routes []Route `json:"routes,omitempty"`

	// dhcp says whether addresses are handed out by DHCP. May change. Absent: the
	// backend's choice.
	// +optional
	DHCP *DHCPMode `json:"dhcp,omitempty"`

	// additionalSubnets are further subnets of the same network, for example the
	// other address family. At most 7; no two subnets of a Network may overlap.
	// Nothing is defaulted inside an entry: the gateway that was chosen for it is
	// in status.subnets. May change. Default: none.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=7
	// +kubebuilder:validation:items:XValidation:rule="!has(self.gateway) || size(self.gateway) == 0 || self.gateway == 'None' || !isIP(self.gateway) || !isCIDR(self.cidr) || cidr(self.cidr).containsIP(self.gateway)",fieldPath=".gateway",message="must be an address inside the entry's cidr"
	AdditionalSubnets []SubnetSpec `json:"additionalSubnets,omitempty"`

	// networkClassName names the NetworkClass that makes the network real. Absent
	// on create: the default class, when there is one. Cannot be changed once set.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="size(self) == 0 || !format.dns1123Subdomain().validate(self).hasValue()",message="must be the name of a NetworkClass: lower case letters, digits, '-' and '.'"
	NetworkClassName string `json:"networkClassName,omitempty"`

	// mtu is the largest packet in bytes, 68 to 9216, and at least 1280 when a
	// subnet is IPv6 (RFC 8200). May change. Absent: the backend's own.
	// +optional
	// +kubebuilder:validation:Minimum=68
	// +kubebuilder:validation:Maximum=9216
	MTU *int32 `json:"mtu,omitempty"`

	// importID is the backend's own name of a network that exists and is to be taken
	// over, instead of another made. It must be of the class's own project, belong to
	// no Network, and agree with the rest of this spec. The class must allow it. At
	// most 64 letters, digits, '-' and '_'. Cannot be changed, added or removed.
	// Absent or "": none.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9_-]*$`
	ImportID string `json:"importID,omitempty"`

	// deletionPolicy says what becomes of the real network when the Network is
	// deleted: Delete removes it, Retain leaves it behind, no longer managed. May
	// change, also while the Network is being deleted. Absent on create: Retain beside
	// an importID, else the class's policy; Delete when there is no class yet.
	// +optional
	DeletionPolicy *DeletionPolicy `json:"deletionPolicy,omitempty"`
}

// Subnet gives the subnet whose fields stand in the spec itself.
func (s *NetworkSpec) Subnet() SubnetSpec {
	return SubnetSpec{
		CIDR: s.CIDR, Gateway: s.Gateway, AllocationPools: s.AllocationPools,
		DNSServers: s.DNSServers, Routes: s.Routes, DHCP: s.DHCP,
	}
}

// NetworkSpec repeats these fields and does not embed them: a wrong JSON type is
// then reported at spec.cidr, and a literal in Go is as flat as the manifest.

// SubnetSpec is one address range of a network and how it is used.
type SubnetSpec struct {
	// cidr is the address range, IPv4 or IPv6: an address, a slash and a prefix
	// length of at least 1, at most 49 characters. No spaces, no leading zeros in
	// IPv4 octets or the prefix length, no IPv4-mapped IPv6 (RFC 4291 2.5.5.2), no
	// zone. Host bits may be set, and draw a warning; the canonical prefix is in
	// status.subnets. May change.
	// +required
	// +kubebuilder:validation:MaxLength=49
	// +kubebuilder:validation:XValidation:rule="isCIDR(self) && !self.endsWith('/0')",message="must be an address and a prefix length of at least 1, for example 192.168.0.0/16 or 2001:db8::/64, without spaces, leading zeros, IPv4-mapped IPv6 or a zone"
	CIDR string `json:"cidr"`

	// gateway is the router's address: inside cidr, neither the network address
	// nor the IPv4 broadcast address (of a /31, /32, /127 or /128 every address
	// will do). Absent, null or "": the first usable address. None: no gateway. At
	// most 45 characters. May change.
	// +optional
	// +kubebuilder:validation:MaxLength=45
	// +kubebuilder:validation:XValidation:rule="size(self) == 0 || self == 'None' || isIP(self)",message="must be a plain IP address inside cidr, or None for no gateway"
	Gateway string `json:"gateway,omitempty"`

	// allocationPools are the ranges that addresses are handed out from: of cidr's
	// family, within its usable addresses, disjoint, without the gateway. At most
	// 16. May change. Absent: every usable address but the gateway.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	AllocationPools []AddressRange `json:"allocationPools,omitempty"`

	// dnsServers are the name servers told to those on the network, of either
	// family, each once, in order of preference. At most 8. May change. Absent:
	// none.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=45
	// +kubebuilder:validation:items:XValidation:rule="isIP(self)",message="must be a plain IP address"
	DNSServers []string `json:"dnsServers,omitempty"`

	// routes are static routes told to those on the network; each destination
	// once. At most 32. May change. Absent: none.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Routes []Route `json:"routes,omitempty"`

	// dhcp says whether addresses are handed out by DHCP. May change. Absent: the
	// backend's choice.
	// +optional
	DHCP *DHCPMode `json:"dhcp,omitempty"`
}

// AddressRange is a range of addresses, both ends included.
type AddressRange struct {
	// start is the first address. At most 45 characters.
	// +required
	// +kubebuilder:validation:MaxLength=45
	// +kubebuilder:validation:XValidation:rule="isIP(self)",message="must be a plain IP address"
	Start string `json:"start"`
	// end is the last address, not below start. At most 45 characters.
	// +required
	// +kubebuilder:validation:MaxLength=45
	// +kubebuilder:validation:XValidation:rule="isIP(self)",message="must be a plain IP address"
	End string `json:"end"`
}

// Route sends a destination to a router on the network.
type Route struct {
	// destination is the address range that is reached, written as cidr is. At
	// most 49 characters.
	// +required
	// +kubebuilder:validation:MaxLength=49
	// +kubebuilder:validation:XValidation:rule="isCIDR(self) && !self.endsWith('/0')",message="must be an address and a prefix length of at least 1; a default route cannot be set"
	Destination string `json:"destination"`
	// nextHop is the router: an address of destination's family, inside cidr. At
	// most 45 characters.
	// +required
	// +kubebuilder:validation:MaxLength=45
	// +kubebuilder:validation:XValidation:rule="isIP(self)",message="must be a plain IP address"
	NextHop string `json:"nextHop"`
}

// DHCPMode says whether a subnet has DHCP.
//
// +kubebuilder:validation:Enum=Enabled;Disabled
type DHCPMode string

// The values of spec.dhcp.
const (
	DHCPEnabled  DHCPMode = "Enabled"
	DHCPDisabled DHCPMode = "Disabled"
)

// DeletionPolicy says what becomes of the real network when its Network goes.
//
// +kubebuilder:validation:Enum=Delete;Retain
type DeletionPolicy string

// The values of deletionPolicy.
const (
	// DeletionDelete removes the real network; this is the default.
	DeletionDelete DeletionPolicy = "Delete"
	// DeletionRetain leaves the real network behind, no longer managed.
	DeletionRetain DeletionPolicy = "Retain"
)

// NetworkStatus is what the backend was seen to hold.
type NetworkStatus struct {
	// observedGeneration is the metadata.generation that the conditions speak of;
	// -1 until a controller has seen the Network.
	// +optional
	ObservedGeneration *int64 `json:"observedGeneration,omitempty"`

	// provider is the backend that holds the network. At most 63 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Provider *ProviderType `json:"provider,omitempty"`

	// providerID is the backend's own name for the network. Opaque; with Multus
	// the name of the NetworkAttachmentDefinition. At most 253 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ProviderID *string `json:"providerID,omitempty"`

	// subnets are the prefixes that this Network has claimed, in canonical form
	// (RFC 4632, RFC 5952) and with the gateways in effect. A prefix is listed
	// before the backend is touched. At most 16.
	// +optional
	// +listType=map
	// +listMapKey=cidr
	// +kubebuilder:validation:MaxItems=16
	Subnets []SubnetStatus `json:"subnets,omitempty"`

	// conditions are Ready, Accepted, Programmed and, only while it is true,
	// Stalled. Their reasons, and what to do about each, are in docs/networks.md.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=8
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// SubnetStatus is one claimed prefix.
type SubnetStatus struct {
	// cidr is the prefix in canonical form. At most 43 characters.
	// +required
	// +kubebuilder:validation:MaxLength=43
	CIDR string `json:"cidr"`
	// gateway is the gateway in effect; absent when there is none. At most 39
	// characters.
	// +optional
	// +kubebuilder:validation:MaxLength=39
	Gateway *string `json:"gateway,omitempty"`
	// providerID is the backend's own name for the subnet, where it has one. At
	// most 253 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ProviderID *string `json:"providerID,omitempty"`
	// state is Pending while the prefix is claimed but not yet seen on the
	// backend, Active afterwards, and Draining once the spec no longer asks for it
	// while the backend still holds it.
	// +required
	State SubnetState `json:"state"`
	// users are those that still use a Draining subnet, as far as they may be named
	// here. At most 10, each at most 253 characters.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10
	// +kubebuilder:validation:items:MaxLength=253
	Users []string `json:"users,omitempty"`
}

// SubnetState says how far a claimed prefix has come.
//
// +kubebuilder:validation:Enum=Pending;Active;Draining
type SubnetState string

// The values of status.subnets[].state.
const (
	SubnetPending  SubnetState = "Pending"
	SubnetActive   SubnetState = "Active"
	SubnetDraining SubnetState = "Draining"
)
