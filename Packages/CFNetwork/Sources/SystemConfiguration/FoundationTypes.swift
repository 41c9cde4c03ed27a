// What a file with `import SystemConfiguration` sees: the types of CFNetwork and Foundation, and of the C headers.

@_exported public import CFNetwork
@_exported public import SystemConfigurationC
@_exported public import SystemConfigurationEngine
