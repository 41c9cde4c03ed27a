internal import Foundation
internal import Glibc

/// A private network for peers and commands, with its own loopback, port 53 and `/etc/resolv.conf`.
///
/// ```swift
/// let namespace = try NetworkNamespace(
///     addresses: ["10.77.9.1/24"], files: ["/etc/resolv.conf": "nameserver 127.0.0.1\n"])
/// let dnsmasq = Dnsmasq(records: [.a("www.peers.test", "192.0.2.1")], in: namespace)
/// try dnsmasq.start()
/// let found = try await Command(Program("getent"), ["hosts", "www.peers.test"], in: namespace).run()
/// ```
///
/// Root creates it directly; other users create it inside a user namespace, if the kernel permits. It ends with ``remove()``,
/// with the last reference, or with this process.
public final class NetworkNamespace: Sendable {
    private let holder: ChildProcess
    private let scratch: ScratchFolder

    /// Creates a namespace whose loopback interface is up.
    ///
    /// - Parameters:
    ///   - addresses: Addresses besides those of loopback, such as `10.77.9.1/24`, for an interface named `outside`, whose peer
    ///     interface is `far`. Without an address, `getaddrinfo` with `AI_ADDRCONFIG` finds nothing, because it ignores loopback
    ///     addresses.
    ///   - setup: Shell commands to run inside.
    ///   - files: Contents to mount over files of the machine, by path.
    /// - Throws: ``PeerError/Code/refused`` with the kernel's message if namespaces are not permitted or `setup` fails.
    public init(addresses: [String] = [], setup: [String] = [], files: [String: String] = [:]) throws(PeerError) {
        scratch = try ScratchFolder("namespace")
        var script = ["set -e", "ip link set lo up"]
        if !addresses.isEmpty { script += Self.outside }
        for address in addresses {
            script.append("ip address add \(address) dev outside\(address.contains(":") ? " nodad" : "")")
        }
        for (number, file) in files.sorted(by: { $0.key < $1.key }).enumerated() {
            let copy = try scratch.write("file-\(number)", file.value)
            script.append("mount --bind '\(copy)' '\(file.key)'")
        }
        script += setup + ["echo ready", "exec sleep infinity"]
        let asRoot = getuid() == 0
        let watch = try FolderWatch(scratch.path)
        holder = try ChildProcess(
            Program("unshare", package: "util-linux"),
            (asRoot ? [] : ["--user", "--map-root-user"])
                + ["--net", "--mount", "--propagation", "private", "sh", "-c", script.joined(separator: "\n")],
            output: scratch.file("log"))
        let end = ContinuousClock.now + .seconds(60)  // reached only if the setup hangs
        while true {
            let log = (try? readText(scratch.file("log"))) ?? ""
            if log.hasSuffix("ready\n") { return }
            if let status = holder.exitStatus {
                throw PeerError(.refused, "cannot create a network namespace (status \(status))", log: log)
            }
            if ContinuousClock.now > end {
                holder.stop()
                throw PeerError(.timedOut, "the network namespace was not ready after 60 s", log: log)
            }
            watch.wait(orFor: holder.end, until: end)
        }
    }

    /// Creates two connected interfaces and waits until both are up. They get no automatic addresses, which would appear later.
    private static let outside =
        ["ip link add outside type veth peer name far"]
        + ["far", "outside"].flatMap { ["ip link set \($0) addrgenmode none", "ip link set \($0) up"] }
        + ["far", "outside"].map { "until ip link show \($0) | grep -q 'state UP'; do :; done" }

    /// Whether the kernel permits this user to create network namespaces.
    public static var isPermitted: Bool { (try? NetworkNamespace()) != nil }

    /// Removes the namespace. Stop the peers inside it first.
    public func remove() {
        holder.stop()
        scratch.remove()
    }

    /// The id of the process that keeps the namespace alive.
    var pid: Int32 { holder.pid }

    /// The program and arguments that run a program inside the namespace.
    func entering(_ program: Program, _ arguments: [String]) throws(PeerError) -> (Program, [String]) {
        var options = ["--target", "\(holder.pid)", "--net", "--mount"]
        if getuid() != 0 { options += ["--user", "--preserve-credentials"] }
        return (Program("nsenter", package: "util-linux"), options + ["--", try program.located()] + arguments)
    }
}
