/// One row of the lab's table: the changes to the network, the target, and the expected diagnosis.
public struct LabFault: Sendable {
    /// The fault in words, which is the name of the row.
    public var name: String
    /// The expected diagnosis: the code of the cause or `fine`, then the codes of the warnings.
    public var verdict: String
    /// The target URL.
    var url: String
    /// Shell commands in the network of the diagnosed machine; `R` and `S` run a command on the router and on the servers.
    var commands: [String]
    var nameServers: [String]
    /// Lines for the hosts file.
    var hosts: String
    /// Environment variables in addition to those of every diagnosis.
    var environment: [String: String]
    /// The command that runs the diagnosis, if any.
    var wrapper: [String]
    /// Text that the report must contain.
    var says: String

    init(
        _ name: String, _ verdict: String, url: String = "http://www.peers.test/", _ commands: [String] = [],
        nameServers: [String] = ["198.51.100.53"], hosts: String = "", environment: [String: String] = [:],
        wrapper: [String] = [], says: String = ""
    ) {
        self.name = name
        self.verdict = verdict
        self.url = url
        self.commands = commands
        self.nameServers = nameServers
        self.hosts = hosts
        self.environment = environment
        self.wrapper = wrapper
        self.says = says
    }
}

extension LabFault: CustomStringConvertible {
    /// The name of the row, in test output.
    public var description: String { name }
}
