package v1

// NeutronSpec says in which cloud a class's networks are made, and how.
//
// The rules that relate two fields hold where neutron is new: none of these fields can
// be changed afterwards.
//
// +kubebuilder:validation:XValidation:rule="self.credentialsSecretName == oldSelf.credentialsSecretName",fieldPath=".credentialsSecretName",message="cannot be changed; change the Secret, or create another NetworkClass"
// +kubebuilder:validation:XValidation:rule="has(self.cloud) == has(oldSelf.cloud) && (!has(self.cloud) || self.cloud == oldSelf.cloud)",fieldPath=".cloud",message="cannot be changed; create another NetworkClass"
// +kubebuilder:validation:XValidation:rule="(has(self.projectID) && size(self.projectID) > 0) == (has(oldSelf.projectID) && size(oldSelf.projectID) > 0) && (!has(self.projectID) || !has(oldSelf.projectID) || self.projectID == oldSelf.projectID)",fieldPath=".projectID",message="cannot be changed; create another NetworkClass"
// +kubebuilder:validation:XValidation:rule="(has(self.networkType) && size(self.networkType) > 0) == (has(oldSelf.networkType) && size(oldSelf.networkType) > 0) && (!has(self.networkType) || !has(oldSelf.networkType) || self.networkType == oldSelf.networkType)",fieldPath=".networkType",message="cannot be changed; create another NetworkClass"
// +kubebuilder:validation:XValidation:rule="(has(self.physicalNetwork) && size(self.physicalNetwork) > 0) == (has(oldSelf.physicalNetwork) && size(oldSelf.physicalNetwork) > 0) && (!has(self.physicalNetwork) || !has(oldSelf.physicalNetwork) || self.physicalNetwork == oldSelf.physicalNetwork)",fieldPath=".physicalNetwork",message="cannot be changed; create another NetworkClass"
// +kubebuilder:validation:XValidation:rule="has(self.segmentationID) == has(oldSelf.segmentationID) && (!has(self.segmentationID) || self.segmentationID == oldSelf.segmentationID)",fieldPath=".segmentationID",message="cannot be changed; create another NetworkClass"
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || !has(self.physicalNetwork) || size(self.physicalNetwork) == 0 || (has(self.networkType) && self.networkType in ['Flat', 'VLAN'])",optionalOldSelf=true,fieldPath=".physicalNetwork",message="needs networkType Flat or VLAN"
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || !has(self.networkType) || (has(self.physicalNetwork) && size(self.physicalNetwork) > 0) || (self.networkType != 'Flat' && (self.networkType != 'VLAN' || !has(self.segmentationID)))",optionalOldSelf=true,fieldPath=".physicalNetwork",reason=FieldValueRequired,message="is required when networkType is Flat, or VLAN with a segmentationID"
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || !has(self.segmentationID) || (has(self.networkType) && self.networkType in ['VLAN', 'VXLAN', 'GRE', 'Geneve'])",optionalOldSelf=true,fieldPath=".segmentationID",message="needs networkType VLAN, VXLAN, GRE or Geneve"
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || !has(self.segmentationID) || !has(self.networkType) || self.networkType != 'VLAN' || self.segmentationID <= 4094",optionalOldSelf=true,fieldPath=".segmentationID",message="must be from 1 to 4094 when networkType is VLAN"
type NeutronSpec struct {
	// credentialsSecretName names a Secret in the manager's own namespace. Its key
	// clouds.yaml is such a file (openstacksdk configuration) with a password, an
	// application credential or a token of a project (Identity API v3), and a region;
	// its optional key cacert holds the certificates (PEM) of who signed the cloud's.
	// Cannot be changed; the Secret's content may.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="!format.dns1123Subdomain().validate(self).hasValue()",message="must be the name of a Secret: lower case letters, digits, '-' and '.'"
	CredentialsSecretName string `json:"credentialsSecretName"`

	// cloud is the name in clouds.yaml of the cloud to use. At most 63 characters.
	// Cannot be changed. Default: openstack.
	// +optional
	// +kubebuilder:default=openstack
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Cloud string `json:"cloud,omitempty"`

	// projectID is the project that the networks are made in; for an administrator's
	// credentials. At most 64 letters, digits, '-' and '_'. Cannot be changed. Absent
	// or "": the project of the credentials.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9_-]*$`
	ProjectID string `json:"projectID,omitempty"`

	// networkType is how the networks are carried (provider:network_type); for an
	// administrator's credentials. Cannot be changed. Absent or "": Neutron's choice.
	// +optional
	NetworkType NeutronNetworkType `json:"networkType,omitempty"`

	// physicalNetwork carries networks of type Flat and VLAN
	// (provider:physical_network); for an administrator's credentials. At most 64
	// ASCII characters without spaces. Needs networkType Flat or VLAN; required with
	// Flat, and with VLAN and a segmentationID. Cannot be changed. Absent or "":
	// Neutron's choice.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[!-~]*$`
	PhysicalNetwork string `json:"physicalNetwork,omitempty"`

	// segmentationID is the VLAN tag, VNI or key (provider:segmentation_id), from 1 to
	// 16777215 and of a VLAN to 4094; for an administrator's credentials. There is one
	// network of an id, and so one Network of such a class. Needs networkType VLAN, VXLAN,
	// GRE or Geneve. Cannot be changed. Absent: Neutron's choice.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=16777215
	SegmentationID *int32 `json:"segmentationID,omitempty"`

	// driftIntervalSeconds is how often, within a fifth, the project's networks are
	// listed to find what somebody else has changed or removed, and put it right. From
	// 10 to 86400. May change. Default: 600.
	// +optional
	// +kubebuilder:default=600
	// +kubebuilder:validation:Minimum=10
	// +kubebuilder:validation:Maximum=86400
	DriftIntervalSeconds *int32 `json:"driftIntervalSeconds,omitempty"`
}

// NeutronNetworkType is how a Neutron network is carried.
//
// +kubebuilder:validation:Enum="";Local;Flat;VLAN;VXLAN;GRE;Geneve
type NeutronNetworkType string

// The values of spec.neutron.networkType.
const (
	NeutronLocal  NeutronNetworkType = "Local"
	NeutronFlat   NeutronNetworkType = "Flat"
	NeutronVLAN   NeutronNetworkType = "VLAN"
	NeutronVXLAN  NeutronNetworkType = "VXLAN"
	NeutronGRE    NeutronNetworkType = "GRE"
	NeutronGeneve NeutronNetworkType = "Geneve"
)
