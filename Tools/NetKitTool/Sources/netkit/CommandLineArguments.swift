import ArgumentParser
import Foundation

/// The rules for arguments that the parser does not have.
enum CommandLineArguments {
    /// The short options that have a value.
    private static let options: Set<Character> = [
        "o", "X", "H", "d", "x", "u", "b", "c", "F", "T", "w", "A", "m", "E", "t", "D", "e",
    ]
    /// The long options whose value may begin with a hyphen.
    private static let optionsOfText: Set<String> = [
        "--data", "--data-binary", "--data-raw", "--header", "--data-urlencode", "--json-body", "--form",
        "--form-string",
        "--write-out",
        "--user-agent", "--cookie",
    ]

    /// Separates a short option from a value that is attached to it, as curl's users write: `-XPUT` becomes `-X PUT`.
    ///
    /// `-V` alone is `--version`. A text of `--form-string` becomes one of `-F`, in quotes: the parts keep their order.
    static func separated(_ arguments: [String]) -> [String] {
        if arguments == ["-V"] { return ["--version"] }
        var separated: [String] = []
        var isValue = false
        var isEnded = false
        for (index, word) in arguments.enumerated() {
            if isValue, !isEnded, index > 0, arguments[index - 1] == "--form-string" {
                separated[separated.count - 1] = "-F"
                separated.append(FormPart.quoted(word))
                isValue = false
                continue
            }
            let option = word.hasPrefix("-") ? word.dropFirst().first : nil
            // A flag of the parser has no values.
            let argument = word == "--report=html" && !isValue && !isEnded ? "--report-html" : word
            if isValue || isEnded || option.map(options.contains) != true {
                separated.append(argument)
                isEnded = isEnded || (argument == "--" && !isValue)
                isValue = !isValue && !isEnded && optionsOfText.contains(argument)
            } else if argument.count == 2 {
                separated.append(argument)
                isValue = true
            } else {
                separated += [String(argument.prefix(2)), String(argument.dropFirst(2))]
            }
        }
        return separated
    }

    /// What to type instead of the name of another program.
    private static let replacements = [
        "curl": "get", "wget": "get", "fetch": "get", "download": "get", "cat": "get", "post": "get -d DATA",
        "cp": "get or put",
        "mirror": "get -r or put -r", "upload": "put", "mget": "get", "mput": "put", "dir": "ls", "list": "ls",
        "delete": "rm", "rename": "mv", "dig": "resolve", "drill": "resolve", "host": "resolve", "nslookup": "resolve",
        "getent": "resolve", "nc": "connect", "ncat": "connect", "netcat": "connect", "telnet": "connect",
        "socat": "connect", "openssl": "connect --tls", "s_client": "connect --tls", "ping": "diagnose",
        "mtr": "diagnose", "traceroute": "diagnose", "avahi-browse": "browse", "avahi-publish": "publish",
        "dns-sd": "browse or publish", "listen": "connect --listen PORT",
    ]

    /// The sentence about a verb that does not exist, also after `help`; nil if the verb exists or none is given.
    static func unknownVerb(in arguments: [String]) -> String? {
        let words = arguments.first == "help" ? arguments.dropFirst() : arguments[...]
        guard let verb = words.first, !verb.hasPrefix("-") else { return nil }
        let verbs = NetKitCommand.configuration.subcommands.compactMap { $0.configuration.commandName }
        if verbs.contains(verb) || verb == "help" { return nil }
        if verb.contains("://") { return "A URL follows a verb: netkit get \(Terminal.shownURL(verb))" }
        if verb == "version" { return "Unknown verb 'version'. Did you mean --version?" }
        if let replacement = replacements[verb] {
            return "Unknown verb '\(Terminal.shown(verb))'. Use netkit \(replacement)."
        }
        let advice = nearest(to: verb, in: verbs).map { " Did you mean \($0)?" } ?? ""
        return "Unknown verb '\(Terminal.shown(verb))'.\(advice)"
    }

    /// The sentence about an option before the verb, as curl's users write it; nil without one.
    static func missingVerb(in arguments: [String]) -> String? {
        guard let option = arguments.first, option.hasPrefix("-"),
            !["-h", "--help", "-help", "--version", "--"].contains(option),
            !["--generate-completion-script", "--experimental-dump-help"].contains(where: option.hasPrefix)
        else { return nil }
        return "Options follow a verb: netkit get \(Terminal.shown(option)) …"
    }

    /// The sentence about the first option that the verb does not have; nil if it has all of them.
    static func unknownOption(in arguments: [String], of verb: any ParsableCommand.Type) -> String? {
        var (verb, rest) = (verb, arguments.dropFirst())
        // A verb of a verb, such as `token decode`.
        while let inner = verb.configuration.subcommands.first(where: { $0.configuration.commandName == rest.first }) {
            (verb, rest) = (inner, rest.dropFirst())
        }
        let known = Verb(verb)
        var isValue = false
        for argument in rest {
            if isValue {
                isValue = false
                continue
            }
            if argument == "--" { return nil }
            if argument.hasPrefix("--") {
                let name = argument.dropFirst(2).prefix { $0 != "=" }
                guard let hasValue = known.long[String(name)] else {
                    let hint =
                        hint(for: "--\(name)", of: verb)
                        ?? nearest(to: String(name), in: known.long.keys.sorted()).map { "Did you mean --\($0)?" }
                    return "Unknown option --\(Terminal.shown(String(name))).\(hint.map { " " + $0 } ?? "")"
                }
                isValue = hasValue && !argument.contains("=")
            } else if argument.hasPrefix("-"), argument.count > 1 {
                let letters = argument.dropFirst()
                if let letter = letters.first(where: { known.short[$0] == nil }) {
                    let hint = hint(for: "-\(letter)", of: verb).map { " " + $0 }
                    return "Unknown option -\(Terminal.shown(String(letter))).\(hint ?? "")"
                }
                // The parser would print the help, and ignore the other letters.
                if letters.count > 1, letters.contains("h"), known.helps("h") {
                    return
                        "\(argument): -h prints the help of \(arguments[0]) and cannot be combined with other options."
                }
                isValue = letters.last.flatMap { known.short[$0] } ?? false
            }
        }
        return nil
    }

    /// What to type instead of an unknown option, as a sentence.
    private static func hint(for option: String, of verb: any ParsableCommand.Type) -> String? {
        if let hint = OptionHints.hint(for: option, of: verb.configuration.commandName ?? "") { return hint }
        if verb == GetCommand.self { return CurlHints.hint(for: option) ?? CurlHints.missing(option) }
        // Most options of curl are those of get, and a short one may have another meaning elsewhere.
        return option.hasPrefix("--") ? CurlHints.hint(for: option) : nil
    }

    /// The word that differs the least from a word with a typing error; nil if all differ too much.
    private static func nearest(to word: String, in words: [String]) -> String? {
        let limit = max(1, word.count / 3)
        let distances = words.map { (word: $0, distance: distance(Array(word.prefix(64)), Array($0))) }
        return distances.filter { $0.distance <= limit }.min { $0.distance < $1.distance }?.word
    }

    /// The number of letters to insert, remove, replace or exchange with their neighbour.
    private static func distance(_ left: [Character], _ right: [Character]) -> Int {
        var rows = [Array(0...right.count)]
        for i in left.indices {
            var row = [i + 1]
            for j in right.indices {
                var cost = min(rows[i][j + 1] + 1, row[j] + 1, rows[i][j] + (left[i] == right[j] ? 0 : 1))
                if i > 0, j > 0, left[i] == right[j - 1], left[i - 1] == right[j] {
                    cost = min(cost, rows[i - 1][j - 1] + 1)
                }
                row.append(cost)
            }
            rows.append(row)
        }
        return rows[left.count][right.count]
    }
}

extension CommandLineArguments {
    /// The options that a verb declares, by name; the value tells whether a value follows the option.
    private struct Verb {
        private(set) var long: [String: Bool] = ["help": false, "version": false]
        private(set) var short: [Character: Bool] = ["h": false]
        /// The short options besides `-h` for the help.
        private var own: Set<Character> = []

        init(_ verb: any ParsableCommand.Type) {
            // The parser offers the declarations only as JSON.
            let tool = try? JSONDecoder().decode(Tool.self, from: Data(verb._dumpHelp().utf8))
            for argument in tool?.command.arguments ?? [] where argument.kind != "positional" {
                for name in argument.names ?? [] {
                    if name.kind == "long" { long[name.name] = argument.kind == "option" }
                    if name.kind == "short", let letter = name.name.first {
                        short[letter] = argument.kind == "option"
                        if argument.names?.contains(where: { $0.name == "help" }) != true { own.insert(letter) }
                    }
                }
            }
        }

        /// Whether a short option prints the help.
        func helps(_ letter: Character) -> Bool { letter == "h" && !own.contains(letter) }

        private struct Tool: Decodable {
            var command: Command
        }
        private struct Command: Decodable {
            var arguments: [Argument]?
        }
        private struct Argument: Decodable {
            var kind: String
            var names: [Name]?
        }
        private struct Name: Decodable {
            var kind: String
            var name: String
        }
    }
}
