package addressing

// Space is what is known of the address space besides a Network itself.
type Space struct {
	// Claims is who claims or asks for which prefix.
	Claims *Claims
	// Cluster is what the cluster itself uses.
	Cluster *ClusterRanges
}
