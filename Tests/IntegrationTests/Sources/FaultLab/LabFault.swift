/// One row of the lab's table: what is done to the network, what is asked for, and what the diagnosis must say.
public struct LabFault: Sendable {
    /// What is wrong, in words.
    public var name: String
    /// What the diagnosis must name: the code of the cause or `fine`, then the codes of the warnings.
    public var verdict: String
    /// What is asked for.
    var url: String
    /// Shell commands in the network of the machine that is diagnosed; `R` and `S` run one where the router and the servers are.
    var commands: [String]
    var nameServers: [String]
    /// Lines of the hosts file.
    var hosts: String
    /// Variables besides those of every diagnosis.
    var environment: [String: String]
    /// What runs the diagnosis, if something does.
    var wrapper: [String]
    /// Words that must stand in the report.
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
    /// What is wrong, in words: what tests call the row.
    public var description: String { name }
}
