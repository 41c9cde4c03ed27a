internal import Foundation
internal import Glibc

/// A socket on which a process accepts connections or receives datagrams, read from the kernel's tables.
///
/// Readiness is read from these tables instead of by connecting. A probe would appear in the server's log, would use up a server
/// that serves one connection, and could be answered by another process that has taken the port.
struct ListeningSocket: Hashable {
    enum Transport: String, Hashable {
        case tcp, udp
    }

    var transport: Transport
    var isIPv6: Bool
    var port: Int

    /// TCP on 127.0.0.1 and, if requested, on ::1.
    static func tcp(_ port: Int, alsoIPv6: Bool = false) -> [Self] {
        [Self(transport: .tcp, isIPv6: false, port: port)]
            + (alsoIPv6 ? [Self(transport: .tcp, isIPv6: true, port: port)] : [])
    }

    /// UDP and TCP on 127.0.0.1: a DNS server.
    static func dns(_ port: Int) -> [Self] {
        tcp(port) + [Self(transport: .udp, isIPv6: false, port: port)]
    }

    /// The sockets of `wanted` that exist in the network namespace of the process `pid`, each with its inodes, to which the
    /// descriptors of its owner point.
    ///
    /// Only the relevant tables are read, and as bytes, because the tables can be long, many peers may start at the same time, and
    /// readiness is read repeatedly.
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

    /// The inodes of the sockets that `pid` and, if requested, its descendants hold.
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
