internal import FoundationEssentials
internal import Glibc
internal import NetDiag

/// Diagnoses the way to a URL in the network that it runs in.
///
///     diagnose-here URL
///     diagnose-here passive://[ADDRESS]
///
/// The second prints the status that the kernel knows without a packet. The first
/// prints the code of the cause, or `fine`, and then those of the remarks. Its limits are short, since in a network of one
/// machine what has not answered after a second never will. It is a program because a process sees one network only.
@main struct DiagnoseHere {
    static func main() async throws {
        guard CommandLine.arguments.count == 2, let url = URL(string: CommandLine.arguments[1]) else {
            print("usage: diagnose-here URL")
            exit(2)
        }
        if url.scheme == "passive" {
            let address = url.host(percentEncoded: false).flatMap { IPAddress($0) }
            print(PassiveStatus.current(to: [address].compactMap(\.self)).status)
            return
        }
        var options = NetDiagnostic.Options()
        options.connectionLimit = .seconds(4)
        options.answerLimit = .seconds(4)
        let diagnosis = try await NetDiagnostic(url: url, options: options).diagnose()
        let remarks = diagnosis.remarks.filter { $0.severity == .warning }.map(\.code.rawValue)
        print(([diagnosis.cause?.code.rawValue ?? "fine"] + remarks).joined(separator: " "))
        print(diagnosis)
        for finding in [diagnosis.cause].compactMap(\.self) + diagnosis.consequences + diagnosis.remarks {
            print(finding.code.rawValue, finding.severity, finding.evidence)
        }
        for family in diagnosis.families { print(family) }
        for sentence in diagnosis.uncheckable { print("not looked at:", sentence) }
    }
}
