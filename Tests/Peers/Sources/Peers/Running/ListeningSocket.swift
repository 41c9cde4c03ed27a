internal import Foundation
internal import Glibc

/// A place where a process waits for connections or datagrams, as the kernel tells it.
///
/// Readiness is read from here instead of by connecting: a probe would show up in the server's log and use up a server
/// that serves one connection, and could be answered by a stranger that was faster to take the port.
struct ListeningSocket: Hashable {
    enum Transport: String, Hashable {
        case tcp, udp
    }

    var transport: Transport
    var isIPv6: Bool
    var port: Int

    /// TCP on 127.0.0.1 and, if asked for, ::1.
    static func tcp(_ port: Int, alsoIPv6: Bool = false) -> [Self] {
        [Self(transport: .tcp, isIPv6: false, port: port)]
            + (alsoIPv6 ? [Self(transport: .tcp, isIPv6: true, port: port)] : [])
    }

    /// UDP and TCP on 127.0.0.1: a DNS server.
    static func dns(_ port: Int) -> [Self] {
        tcp(port) + [Self(transport: .udp, isIPv6: false, port: port)]
    }

    /// Those of `wanted` that the process `pid` could see in its network namespace, each with the inode that a descriptor of its
    /// owner points to.
    ///
    /// Tables may be long, many peers may start at once, and what is read here is read again and again: so only the tables that
    /// matter, and as bytes.
    static func visible(to pid: pid_t, of wanted: [Self]) -> [Self: Set<UInt64>] {
        var sockets: [Self: Set<UInt64>] = [:]
        for transport in [Transport.tcp, .udp] {
            for isIPv6 in [false, true] {
                let ports = wanted.filter { $0.transport == transport && $0.isIPv6 == isIPv6 }.map(\.port)
                if ports.isEmpty { continue }
                let path = "/proc/\(pid)/net/\(transport)\(isIPv6 ? "6" : "")"
                for line in ((try? readBytes(path)) ?? []).split(separator: UInt8(ascii: "\n")).dropFirst() {
                    // sl local_address rem_address st tx_queue:rx_queue tr:tm->when retrnsmt uid timeout inode
                    let fields = line.split(separator: UInt8(ascii: " "), maxSplits: 10)
                    // 0A is LISTEN; 07 is CLOSE, which is what an unconnected UDP socket shows.
                    guard fields.count > 9, fields[3].elementsEqual((transport == .tcp ? "0A" : "07").utf8),
                        let port = Int(String(decoding: fields[1].suffix(4), as: UTF8.self), radix: 16),
                        ports.contains(port), let inode = UInt64(String(decoding: fields[9], as: UTF8.self))
                    else { continue }
                    sockets[Self(transport: transport, isIPv6: isIPv6, port: port), default: []].insert(inode)
                }
            }
        }
        return sockets
    }

    /// The inodes of the sockets that `pid` holds, and if asked those of the processes that it started.
    static func inodes(of pid: pid_t, andDescendants isDeep: Bool) -> Set<UInt64> {
        guard isDeep else { return inodes(of: pid) }
        let children = ((try? readText("/proc/\(pid)/task/\(pid)/children")) ?? "").split(separator: " ")
        return children.compactMap { pid_t($0) }.reduce(into: inodes(of: pid)) {
            $0.formUnion(inodes(of: $1, andDescendants: true))
        }
    }

    private static func inodes(of pid: pid_t) -> Set<UInt64> {
        let folder = "/proc/\(pid)/fd"
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return Set(
            names.compactMap { name in
                guard let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\(name)"),
                    target.hasPrefix("socket:[")
                else { return nil }
                return UInt64(target.dropFirst(8).dropLast())
            })
    }
}
