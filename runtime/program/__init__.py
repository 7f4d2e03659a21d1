"""Functions of a program: names, arguments, constants, random inputs."""
