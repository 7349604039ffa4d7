package foo

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/samplecrd/samplecrd/test/env"
)

// everything is a PodTemplate with every kind of thing that a Pod may have, where
// there is a choice not as the API server would write it.
const everything = `
apiVersion: v1
kind: PodTemplate
metadata: {name: everything}
template:
  metadata:
    labels: {example.com/team: a}
    annotations: {example.com/mesh: "on", example.com/empty: ""}
  spec:
    activeDeadlineSeconds: null
    affinity:
      nodeAffinity:
        requiredDuringSchedulingIgnoredDuringExecution:
          nodeSelectorTerms: [{matchExpressions: [{key: disk, operator: In, values: [fast, faster]}]}]
        preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, preference: {matchFields: [{key: metadata.name, operator: NotIn, values: [n1]}]}}]
      podAntiAffinity:
        preferredDuringSchedulingIgnoredDuringExecution:
        - {weight: 10, podAffinityTerm: {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {a: b}}, namespaceSelector: {}}}
    automountServiceAccountToken: false
    dnsPolicy: None
    dnsConfig: {nameservers: [192.0.2.53], searches: [example.com], options: [{name: ndots, value: "2"}, {name: edns0}]}
    enableServiceLinks: false
    hostAliases: [{ip: 192.0.2.1, hostnames: [a.example, b.example]}]
    hostname: web
    imagePullSecrets: [{name: pull}, {name: pull-too}]
    nodeSelector: {}
    os: {name: linux}
    priorityClassName: ""
    readinessGates: [{conditionType: example.com/Ready}]
    runtimeClassName: fast
    schedulerName: other
    securityContext: {runAsUser: 1000, fsGroup: 0, supplementalGroups: [1, 2], sysctls: [{name: net.ipv4.tcp_syncookies, value: "1"}], seccompProfile: {type: RuntimeDefault}}
    serviceAccountName: web
    setHostnameAsFQDN: true
    shareProcessNamespace: true
    subdomain: sub
    terminationGracePeriodSeconds: 0
    tolerations: [{key: a, operator: Exists, effect: NoExecute, tolerationSeconds: 30}, {operator: Exists}]
    topologySpreadConstraints:
    - {maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {a: b}}, matchLabelKeys: [pod-template-hash]}
    - {maxSkew: 2, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway, labelSelector: {}}
    initContainers:
    - {name: init, image: registry.example/init, command: [], args: ["--once"]}
    - {name: sidecar, image: "registry.example/sidecar:1", restartPolicy: Always, startupProbe: {exec: {command: ["true"]}}}
    containers:
    - name: main
      image: registry.example/web@sha256:0123456789012345678901234567890123456789012345678901234567890123
      command: [/web]
      workingDir: /srv
      env:
      - {name: PLAIN, value: ""}
      - {name: FIELD, valueFrom: {fieldRef: {fieldPath: status.podIP}}}
      - {name: MEMORY, valueFrom: {resourceFieldRef: {resource: limits.memory, divisor: 1024Ki}}}
      - {name: MAPPED, valueFrom: {configMapKeyRef: {name: web, key: a, optional: true}}}
      - {name: SECRET, valueFrom: {secretKeyRef: {name: web, key: b}}}
      envFrom: [{prefix: X_, configMapRef: {name: web}}, {secretRef: {name: web, optional: false}}]
      ports:
      - {name: http, containerPort: 80}
      - {name: dns, containerPort: 53, protocol: UDP}
      - {name: dns-tcp, containerPort: 53, protocol: TCP, hostPort: 0}
      resources:
        requests: {cpu: 1000m, memory: 1024Mi, ephemeral-storage: 0.5Gi, example.com/gpu: "2000m"}
        limits: {cpu: "2.0", memory: 2147483648, ephemeral-storage: 1e9, example.com/gpu: "2"}
      resizePolicy: [{resourceName: cpu, restartPolicy: NotRequired}]
      livenessProbe: {httpGet: {path: /live, port: http, httpHeaders: [{name: A, value: b}]}, initialDelaySeconds: 0}
      readinessProbe: {tcpSocket: {port: 80}, periodSeconds: 3, successThreshold: 2}
      startupProbe: {grpc: {port: 9000, service: ""}}
      lifecycle: {preStop: {httpGet: {port: 80}}, postStart: {exec: {command: [sh, -c, "true"]}}}
      securityContext: {capabilities: {drop: [ALL], add: [NET_BIND_SERVICE]}, readOnlyRootFilesystem: true, privileged: false, allowPrivilegeEscalation: false}
      stdin: true
      tty: true
      terminationMessagePolicy: FallbackToLogsOnError
      volumeMounts:
      - {name: empty, mountPath: /empty, subPath: a, readOnly: true}
      - {name: config, mountPath: /config, mountPropagation: HostToContainer}
      - {name: config, mountPath: /config-too, readOnly: true, recursiveReadOnly: Disabled}
      volumeDevices: [{name: claim, devicePath: /dev/xvda}]
    - {name: second, image: registry.example/second, env: [], ports: [], volumeMounts: [], resources: {}, securityContext: {}}
    volumes:
    - {name: empty, emptyDir: {}}
    - {name: memory, emptyDir: {medium: Memory, sizeLimit: 0.25Gi}}
    - {name: nothing}
    - {name: config, configMap: {name: web, items: [{key: a, path: a.txt, mode: 0400}]}}
    - {name: secret, secret: {secretName: web, defaultMode: 0}}
    - {name: claim, persistentVolumeClaim: {claimName: web}}
    - {name: host, hostPath: {path: /var/log}}
    - {name: downward, downwardAPI: {items: [{path: labels, fieldRef: {fieldPath: metadata.labels}}, {path: cpu, resourceFieldRef: {containerName: main, resource: requests.cpu, divisor: 1m}}]}}
    - {name: projected, projected: {sources: [{serviceAccountToken: {path: token}}, {configMap: {name: web}}, {secret: {name: web}}, {downwardAPI: {items: [{path: name, fieldRef: {apiVersion: v1, fieldPath: metadata.name}}]}}]}}
    - {name: nfs, nfs: {server: nfs.example, path: /}}
    - {name: csi, csi: {driver: csi.example, volumeAttributes: {a: b}}}
    - {name: image, image: {reference: registry.example/data}}
    - name: ephemeral
      ephemeral: {volumeClaimTemplate: {metadata: {labels: {a: b}}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1024Mi}}}}}
    - name: ephemeral-too
      ephemeral: {volumeClaimTemplate: {spec: {accessModes: [ReadWriteOnce], storageClassName: fast, resources: {requests: {storage: 1000M}}}}}
    - {name: iscsi, iscsi: {targetPortal: "192.0.2.1:3260", iqn: iqn.2001-04.com.example:storage, lun: 0}}
    - {name: fc, fc: {targetWWNs: ["5006016041e0"], lun: 1}}
`

var _ = Describe("A PodTemplate with everything", func() {
	It("is written once, and never again while nothing changes", func() {
		w := onWhole()
		w.play()
		w.apply(everything)
		written := w.writes(Default)
		w.foo("a", "web", madeFrom("everything"))
		Eventually(w.of("a")).Should(beReady())
		settled()
		before := w.deployment("web")
		template := &corev1.PodTemplate{}
		Expect(w.Client.Get(ctx, w.key("everything"), template)).To(Succeed())
		Expect(before.Spec.Template.Spec).To(Equal(template.Template.Spec))
		for range 3 {
			w.touch("a")
		}
		Expect(w.deployment("web").ResourceVersion).To(Equal(before.ResourceVersion))
		Consistently(w.writesSince(written)).Should(And(
			HaveKeyWithValue("APPLY deployments 201", 1), Not(HaveKey("APPLY deployments 200")),
			HaveKeyWithValue("PATCH foos/status 200", BeNumerically("<=", 2))))

		By("a manager that starts anew")
		w.stop()
		w.start(env.ManagerOptions{Controllers: true, Webhooks: true})
		settled()
		Expect(w.deployment("web").ResourceVersion).To(Equal(before.ResourceVersion))
		Expect(w.writesSince(written)(Default)).NotTo(HaveKey("APPLY deployments 200"))
	})
})
