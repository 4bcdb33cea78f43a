"""What `import ragviz` offers: a project, and the results of what is done in it."""
