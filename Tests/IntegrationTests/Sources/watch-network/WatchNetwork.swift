internal import Glibc
internal import HostResolver

/// Changes the network of this process, and prints the notifications of ``NetworkMonitor``.
///
///     watch-network ADDRESS COMMAND…
///
/// prints the reachability of ADDRESS, then for each command, run by a shell, one line: the reported change, and the reachability
/// of ADDRESS if it has changed. It is a program because a process is in only one network namespace.
@main struct WatchNetwork {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count > 1, let address = IPAddress(arguments[1]) else {
            print("usage: watch-network ADDRESS COMMAND…")
            exit(2)
        }
        // On a loaded machine, the messages about one change may be spread over some time.
        let monitor = try NetworkMonitor(quietTime: .milliseconds(300))
        var changes = monitor.changes().makeAsyncIterator()
        var reachability = monitor.reachability(of: [address]).makeAsyncIterator()
        var flags = await reachability.next() ?? []
        print(flags)
        for command in arguments.dropFirst(2) {
            guard system(command) == 0 else { exit(1) }
            guard let change = await changes.next() else { exit(1) }
            var line = names(of: change)
            if try ReachabilityFlags(of: [address]) != flags {
                flags = await reachability.next() ?? []
                line += ": \(flags)"
            }
            print(line)
        }
        monitor.stop()
        while let change = await changes.next() { print("surplus", names(of: change)) }
        while let flags = await reachability.next() { print("surplus", flags) }
    }

    private static func names(of change: NetworkChange) -> String {
        let names: [(NetworkChange, String)] = [(.links, "links"), (.addresses, "addresses"), (.routes, "routes")]
        return names.filter { change.contains($0.0) }.map(\.1).joined(separator: "+")
    }
}
