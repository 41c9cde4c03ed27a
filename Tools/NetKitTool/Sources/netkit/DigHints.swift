import DNSWire

/// What to type instead of an argument that `dig` has and `netkit resolve` does not.
enum DigHints {
    /// The hint for an argument in the place of a name, as a sentence; nil if it may be a name.
    ///
    /// - Parameter isOnly: whether it is the only name, and thus no type.
    static func hint(for argument: String, isOnly: Bool) -> String? {
        let shown = Terminal.shown(argument)
        if argument.hasPrefix("@") {
            return "'\(shown)' is not a name. Use --server \(Terminal.shown(String(argument.dropFirst())))."
        }
        if argument.hasPrefix("+") {
            let name = argument.dropFirst().prefix { $0 != "=" }
            let option =
                switch name {
                case "short", "trace": "--\(name)"
                case "tcp", "vc": "--tcp"
                case "time", "timeout": "--timeout SECONDS"
                default: String?.none
                }
            return
                "'\(shown)' is not a name.\(option.map { " Use \($0)." } ?? " netkit has no equivalent of this option of dig.")"
        }
        if !isOnly, argument == argument.uppercased(), !argument.contains("."), DNSRecordType(argument) != nil {
            return "'\(shown)' is a type. Use -t \(shown)."
        }
        return nil
    }
}
