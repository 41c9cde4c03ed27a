internal import AttackLab

/// The options of the command line.
struct AttackLabOptions {
    enum Verb {
        case run, list, help, measure
    }

    /// An error in the command line.
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    static let help = """
        usage: attacklab [ROW…] [--seconds N] [--runs N] [--list] [--markdown]

        ROW         a row, or a family of rows by how their names begin (tls, http, ftp, mdns…); all rows unless given
        --seconds   how long each run lasts; 10 unless given
        --runs      how often each attack takes place; 3 unless given
        --list      names the rows and takes no further action
        --markdown  prints the table for SECURITY.md
        """

    var verb = Verb.run
    var attacks: [Attack] = []
    var seconds = 10.0
    var runs = 3
    var bytes = 0
    var isMarkdown = false

    init(_ arguments: some Sequence<String>) throws(Failure) {
        var words = Array(arguments)[...]
        while let word = words.popFirst() {
            switch word {
            case "--help", "-h": verb = .help
            case "--list": verb = .list
            case "--markdown": isMarkdown = true
            case "--measure": verb = .measure
            case "--seconds": seconds = try Self.number(of: word, words.popFirst(), from: 0.1, to: 3600)
            case "--runs": runs = Int(try Self.number(of: word, words.popFirst(), from: 1, to: 100, isWhole: true))
            case "--bytes": bytes = Int(try Self.number(of: word, words.popFirst(), from: 0, to: 1e12, isWhole: true))
            default:
                if word.hasPrefix("-") { throw Failure(description: "no option '\(word)'; see --help") }
                let named = Attack.named(word)
                if named.isEmpty { throw Failure(description: "no row '\(word)'; --list names them") }
                attacks += named.filter { new in !attacks.contains { $0.name == new.name } }
            }
        }
        if verb == .measure, attacks.count != 1 { throw Failure(description: "--measure takes one row") }
        if attacks.isEmpty { attacks = Attack.all }
    }

    private static func number(
        of option: String, _ word: String?, from least: Double, to most: Double, isWhole: Bool = false
    ) throws(Failure) -> Double {
        guard let word, let number = Double(word), number >= least, number <= most,
            !isWhole || number == number.rounded()
        else {
            let kind = isWhole ? "a whole number" : "a number"
            let range = isWhole ? "\(Int(least)) to \(Int(most))" : "\(least) to \(Int(most))"
            throw Failure(description: "\(option) takes \(kind) from \(range), not '\(word ?? "")'")
        }
        return number
    }
}
