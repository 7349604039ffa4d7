package networkclass

import (
	"strings"
	"testing"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
)

// cloudClass is a class of Neutron as the schema leaves it, changed.
func cloudClass(changes ...func(*samplecrdv1.NeutronSpec)) *samplecrdv1.NetworkClass {
	c := class(provider(samplecrdv1.ProviderNeutron), noMultus)
	c.Spec.Neutron = &samplecrdv1.NeutronSpec{CredentialsSecretName: "openstack", Cloud: "openstack", DriftIntervalSeconds: new(int32(600))}
	for _, change := range changes {
		change(c.Spec.Neutron)
	}
	return c
}

// with changes the policy of c.
func with(c *samplecrdv1.NetworkClass, change change) *samplecrdv1.NetworkClass {
	change(&c.Spec)
	return c
}

func noNeutron(s *samplecrdv1.NetworkClassSpec) { s.Neutron = nil }

// besideNeutron is a class of Multus with what belongs to Neutron besides.
func besideNeutron(changes ...func(*samplecrdv1.NeutronSpec)) *samplecrdv1.NetworkClass {
	return class(func(s *samplecrdv1.NetworkClassSpec) { s.Neutron = cloudClass(changes...).Spec.Neutron })
}

// besideMultus is a class of Neutron with what belongs to Multus besides.
func besideMultus(s *samplecrdv1.NetworkClassSpec) {
	s.Multus = &samplecrdv1.MultusSpec{Type: samplecrdv1.MultusBridge}
}

func secret(name string) func(*samplecrdv1.NeutronSpec) {
	return func(n *samplecrdv1.NeutronSpec) { n.CredentialsSecretName = name }
}

func cloudName(name string) func(*samplecrdv1.NeutronSpec) {
	return func(n *samplecrdv1.NeutronSpec) { n.Cloud = name }
}

func project(id string) func(*samplecrdv1.NeutronSpec) {
	return func(n *samplecrdv1.NeutronSpec) { n.ProjectID = id }
}

func drift(seconds int32) func(*samplecrdv1.NeutronSpec) {
	return func(n *samplecrdv1.NeutronSpec) { n.DriftIntervalSeconds = &seconds }
}

func carried(networkType samplecrdv1.NeutronNetworkType) func(*samplecrdv1.NeutronSpec) {
	return func(n *samplecrdv1.NeutronSpec) { n.NetworkType = networkType }
}

func physical(name string) func(*samplecrdv1.NeutronSpec) {
	return func(n *samplecrdv1.NeutronSpec) { n.PhysicalNetwork = name }
}

func segment(id int32) func(*samplecrdv1.NeutronSpec) {
	return func(n *samplecrdv1.NeutronSpec) { n.SegmentationID = &id }
}

func TestValidateNeutron(t *testing.T) {
	const (
		path         = "spec.neutron"
		secretPath   = path + ".credentialsSecretName"
		cloudPath    = path + ".cloud"
		projectPath  = path + ".projectID"
		typePath     = path + ".networkType"
		physicalPath = path + ".physicalNetwork"
		segmentPath  = path + ".segmentationID"
		driftPath    = path + ".driftIntervalSeconds"
	)
	tooLong := func(path string) []fault { return []fault{{"FieldValueTooLong", path}} }
	bad := func(paths ...string) (faults []fault) {
		for _, path := range paths {
			faults = append(faults, invalid(path))
		}
		return faults
	}
	huge := strings.Repeat("x", 1<<20)
	for name, tc := range map[string]struct {
		object *samplecrdv1.NetworkClass
		want   []fault
	}{
		"a Secret and nothing else":              {cloudClass(), nil},
		"a project of its own":                   {cloudClass(project("2C8e_8-9")), nil},
		"Neutron without its part":               {with(cloudClass(), noNeutron), []fault{required(path)}},
		"what belongs to Multus besides":         {with(cloudClass(), besideMultus), []fault{forbidden("spec.multus")}},
		"that alone":                             {with(with(cloudClass(), besideMultus), noNeutron), []fault{forbidden("spec.multus"), required(path)}},
		"Multus with what belongs to Neutron":    {besideNeutron(), []fault{forbidden(path)}},
		"which is not judged besides":            {besideNeutron(drift(1)), []fault{forbidden(path)}},
		"no Secret":                              {cloudClass(secret("")), []fault{required(secretPath)}},
		"a Secret in a namespace":                {cloudClass(secret("other/openstack")), bad(secretPath)},
		"a Secret in upper case":                 {cloudClass(secret("OpenStack")), bad(secretPath)},
		"a Secret of the longest name":           {cloudClass(secret(strings.Repeat("x", 253))), nil},
		"a Secret of a longer name":              {cloudClass(secret(strings.Repeat("x", 254))), tooLong(secretPath)},
		"a Secret of a huge name":                {cloudClass(secret(huge)), tooLong(secretPath)},
		"an empty cloud":                         {cloudClass(cloudName("")), []fault{required(cloudPath)}},
		"a cloud of the longest name":            {cloudClass(cloudName(strings.Repeat("é", 63))), nil},
		"a cloud of a longer name":               {cloudClass(cloudName(strings.Repeat("x", 64))), tooLong(cloudPath)},
		"a project by its path":                  {cloudClass(project("default/demo")), bad(projectPath)},
		"a project of the longest id":            {cloudClass(project(strings.Repeat("x", 64))), nil},
		"a project of a longer id":               {cloudClass(project(strings.Repeat("x", 65))), tooLong(projectPath)},
		"every type: Local":                      {cloudClass(carried(samplecrdv1.NeutronLocal)), nil},
		"every type: Flat":                       {cloudClass(carried(samplecrdv1.NeutronFlat), physical("physnet1")), nil},
		"every type: VLAN":                       {cloudClass(carried(samplecrdv1.NeutronVLAN), physical("physnet1"), segment(4094)), nil},
		"every type: VXLAN":                      {cloudClass(carried(samplecrdv1.NeutronVXLAN), segment(16777215)), nil},
		"every type: GRE":                        {cloudClass(carried(samplecrdv1.NeutronGRE), segment(4095)), nil},
		"every type: Geneve":                     {cloudClass(carried(samplecrdv1.NeutronGeneve), segment(1)), nil},
		"a type as Neutron writes it":            {cloudClass(carried("vlan")), []fault{unknown(typePath)}},
		"a huge type":                            {cloudClass(carried(samplecrdv1.NeutronNetworkType(huge))), []fault{unknown(typePath)}},
		"what relates to a type that is none":    {cloudClass(carried("vlan"), physical("physnet1"), segment(4095)), []fault{unknown(typePath)}},
		"a physical network without a type":      {cloudClass(physical("physnet1")), bad(physicalPath)},
		"a physical network of an overlay":       {cloudClass(carried(samplecrdv1.NeutronVXLAN), physical("physnet1")), bad(physicalPath)},
		"a physical network with a space":        {cloudClass(carried(samplecrdv1.NeutronFlat), physical("physnet 1")), bad(physicalPath)},
		"a physical network of no ASCII":         {cloudClass(carried(samplecrdv1.NeutronFlat), physical("é")), bad(physicalPath)},
		"a physical network of longest name":     {cloudClass(carried(samplecrdv1.NeutronFlat), physical(strings.Repeat("x", 64))), nil},
		"a physical network of a longer name":    {cloudClass(carried(samplecrdv1.NeutronFlat), physical(strings.Repeat("x", 65))), tooLong(physicalPath)},
		"an id without a type":                   {cloudClass(segment(7)), bad(segmentPath)},
		"an id of a Local network":               {cloudClass(carried(samplecrdv1.NeutronLocal), segment(7)), bad(segmentPath)},
		"a Flat network of none":                 {cloudClass(carried(samplecrdv1.NeutronFlat)), []fault{required(physicalPath)}},
		"a VLAN with an id on none":              {cloudClass(carried(samplecrdv1.NeutronVLAN), segment(7)), []fault{required(physicalPath)}},
		"any VLAN on any":                        {cloudClass(carried(samplecrdv1.NeutronVLAN)), nil},
		"an id of a Flat network":                {cloudClass(carried(samplecrdv1.NeutronFlat), physical("physnet1"), segment(7)), bad(segmentPath)},
		"VLAN 0":                                 {cloudClass(carried(samplecrdv1.NeutronVLAN), physical("physnet1"), segment(0)), bad(segmentPath)},
		"VLAN 4095":                              {cloudClass(carried(samplecrdv1.NeutronVLAN), physical("physnet1"), segment(4095)), bad(segmentPath)},
		"an id of more than 24 bits":             {cloudClass(carried(samplecrdv1.NeutronVXLAN), segment(16777216)), bad(segmentPath)},
		"an id that is bad with any type":        {cloudClass(segment(-1)), bad(segmentPath)},
		"a look every ten seconds":               {cloudClass(drift(10)), nil},
		"a look every nine":                      {cloudClass(drift(9)), bad(driftPath)},
		"a look once a day":                      {cloudClass(drift(86400)), nil},
		"a look less often":                      {cloudClass(drift(86401)), bad(driftPath)},
		"no interval, where there is no default": {cloudClass(func(n *samplecrdv1.NeutronSpec) { n.DriftIntervalSeconds = nil }), nil},
		"every fault at once": {
			with(cloudClass(secret("X"), cloudName(""), project("?"), carried("x"), physical(" "), segment(0), drift(0)), imports("x")),
			[]fault{invalid(secretPath), required(cloudPath), invalid(projectPath), unknown(typePath), invalid(physicalPath), invalid(segmentPath), invalid(driftPath), unknown("spec.import")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, errs := (&webhook{}).Validate(tc.object, nil, facts{})
			check(t, errs, tc.want)
		})
	}
}

// In which cloud, and how, is held fast; how often it is looked at is not.
func TestValidateNeutronUpdate(t *testing.T) {
	const path = "spec.neutron."
	bad := func(names ...string) (faults []fault) {
		for _, name := range names {
			faults = append(faults, invalid(path+name))
		}
		return faults
	}
	vlan := func(changes ...func(*samplecrdv1.NeutronSpec)) *samplecrdv1.NetworkClass {
		return cloudClass(append([]func(*samplecrdv1.NeutronSpec){carried(samplecrdv1.NeutronVLAN), physical("physnet1"), segment(7), project("a")}, changes...)...)
	}
	none := func(n *samplecrdv1.NeutronSpec) { n.SegmentationID = nil }
	for name, tc := range map[string]struct {
		old, object *samplecrdv1.NetworkClass
		want        []fault
	}{
		"the interval and the policy may change": {vlan(), with(vlan(drift(60)), imports(samplecrdv1.ImportAllowed)), nil},
		"the interval may be left out":           {vlan(), vlan(func(n *samplecrdv1.NeutronSpec) { n.DriftIntervalSeconds = nil }), nil},
		"the interval may not be bad":            {vlan(), vlan(drift(0)), bad("driftIntervalSeconds")},
		"the Secret":                             {vlan(), vlan(secret("other")), bad("credentialsSecretName")},
		"the cloud":                              {vlan(), vlan(cloudName("other")), bad("cloud")},
		"the project":                            {vlan(), vlan(project("b")), bad("projectID")},
		"the project that is left out":           {vlan(), vlan(project("")), bad("projectID")},
		"a project that is added":                {cloudClass(), cloudClass(project("a")), bad("projectID")},
		"the type":                               {vlan(physical("")), vlan(physical(""), carried(samplecrdv1.NeutronVXLAN)), bad("networkType")},
		"the physical network":                   {vlan(), vlan(physical("physnet2")), bad("physicalNetwork")},
		"the id":                                 {vlan(), vlan(segment(8)), bad("segmentationID")},
		"the id that is left out":                {vlan(), vlan(none), bad("segmentationID")},
		"an id that is added":                    {vlan(none), vlan(), bad("segmentationID")},
		"each by its name": {
			vlan(), cloudClass(secret("other"), cloudName("other")),
			bad("credentialsSecretName", "cloud", "projectID", "networkType", "physicalNetwork", "segmentationID"),
		},
		"a huge Secret is not echoed":                    {vlan(), vlan(secret(strings.Repeat("x", 1<<20))), []fault{{"FieldValueTooLong", path + "credentialsSecretName"}, invalid(path + "credentialsSecretName")}},
		"the part of Neutron may not be taken off":       {vlan(), with(vlan(), noNeutron), []fault{required("spec.neutron"), forbidden("spec.neutron")}},
		"what was missing may be put right":              {with(cloudClass(), noNeutron), cloudClass(), nil},
		"but not put wrong":                              {with(cloudClass(), noNeutron), cloudClass(segment(7)), bad("segmentationID")},
		"what is missing may stay so":                    {with(cloudClass(), noNeutron), with(with(cloudClass(), noNeutron), policy(samplecrdv1.DeletionRetain)), nil},
		"the provider may not be changed":                {class(), cloudClass(), []fault{invalid("spec.provider"), forbidden("spec.multus")}},
		"nor back":                                       {cloudClass(), class(), []fault{invalid("spec.provider"), forbidden("spec.neutron")}},
		"what belongs to Multus may not be added":        {cloudClass(), with(cloudClass(), besideMultus), []fault{forbidden("spec.multus")}},
		"what belongs to Neutron may not be added":       {class(), besideNeutron(), []fault{forbidden("spec.neutron")}},
		"where it stands it may stay":                    {besideNeutron(), with(besideNeutron(), policy(samplecrdv1.DeletionRetain)), nil},
		"or go":                                          {besideNeutron(), class(), nil},
		"but not change":                                 {besideNeutron(), besideNeutron(drift(60)), []fault{forbidden("spec.neutron")}},
		"what belongs to Multus may stay":                {with(cloudClass(), besideMultus), with(cloudClass(drift(60)), besideMultus), nil},
		"or go, too":                                     {with(cloudClass(), besideMultus), cloudClass(), nil},
		"a bad project stays while the interval changes": {cloudClass(project("?")), cloudClass(project("?"), drift(60)), nil},
		"a bad pair stays while the interval changes":    {cloudClass(segment(7)), cloudClass(segment(7), drift(60)), nil},
		"a bad pair hides no new fault":                  {cloudClass(segment(7)), cloudClass(segment(7), drift(1)), bad("driftIntervalSeconds")},
		"a bad interval stays while the policy changes":  {cloudClass(drift(1)), with(cloudClass(drift(1)), policy(samplecrdv1.DeletionRetain)), nil},
		"a bad interval may not become another":          {cloudClass(drift(1)), cloudClass(drift(2)), bad("driftIntervalSeconds")},
	} {
		t.Run(name, func(t *testing.T) {
			_, errs := (&webhook{}).Validate(tc.object, tc.old, facts{})
			check(t, errs, tc.want)
		})
	}
}

// The text is what these cases are about.
func TestNeutronSentences(t *testing.T) {
	for name, tc := range map[string]struct {
		object *samplecrdv1.NetworkClass
		want   string
	}{
		"both providers":              {class(provider("")), `spec.provider: Required value: set it to one of ["Multus" "Neutron"]`},
		"an example":                  {with(cloudClass(), noNeutron), "spec.neutron: Required value: set it, for example to {credentialsSecretName: openstack}, since provider is Neutron"},
		"that it does not belong":     {besideNeutron(), "spec.neutron: Forbidden: remove it, since provider is Multus"},
		"where the Secret is":         {cloudClass(secret("")), "spec.neutron.credentialsSecretName: Required value: name a Secret in the manager's namespace that holds clouds.yaml, for example openstack"},
		"which types have an id":      {cloudClass(segment(7)), "spec.neutron.segmentationID: Invalid value: 7: needs networkType VLAN, VXLAN, GRE or Geneve; set that, or leave this out"},
		"the range of a VLAN":         {cloudClass(carried(samplecrdv1.NeutronVLAN), physical("physnet1"), segment(4095)), "spec.neutron.segmentationID: Invalid value: 4095: must be from 1 to 4094, since networkType is VLAN"},
		"which are of a physical one": {cloudClass(physical("physnet1")), `spec.neutron.physicalNetwork: Invalid value: "physnet1": needs networkType Flat or VLAN; set that, or leave this out`},
	} {
		t.Run(name, func(t *testing.T) {
			_, errs := (&webhook{}).Validate(tc.object, nil, facts{})
			if len(errs) != 1 || errs[0].Error() != tc.want {
				t.Errorf("got %v, want %s", errs, tc.want)
			}
		})
	}
}
