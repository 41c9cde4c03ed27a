import NetDiag

extension NetDiagnostic.Options {
    /// Options for servers that answer, however slow the machine is.
    static var patient: Self {
        var options = NetDiagnostic.Options()
        options.lookupLimit = .seconds(60)
        options.connectionLimit = .seconds(60)
        options.answerLimit = .seconds(60)
        return options
    }
}
